// DTR's policy: while the step runs, the tensor with the least
//
//   h = cost / (bytes * staleness)
//
// is evicted whenever an allocation does not fit, and is computed again when it
// is read. Source: Kirisame et al., "Dynamic Tensor Rematerialization" (ICLR
// 2021, arXiv 2006.09616, sections 3 and 4.1). `cost` is the kernel time of the
// tensor and of its evicted neighbourhood: what must be computed again before
// it, and what must be computed again after it. `staleness` is the time since
// its last use. Tensors that nothing reads any more are freed at once (the
// paper's eager eviction).
//
// The evictions of such a run become fates: a tensor that was evicted in a gap
// is recomputed in it, and released if it was evicted twice in it.
//
// Approximated: fates free a tensor from the begin of the gap, not from its
// eviction, so the chains of clones may be longer than in the run. Only gaps
// that a clone can bridge are evicted; outputs in place take new bytes, as in
// DTR. A tensor that nothing can make again and that a chain reads after its
// last use in the step counts no bytes.
#ifndef SPILLWAY_TUNER_POLICIES_DTR_H_
#define SPILLWAY_TUNER_POLICIES_DTR_H_

#include <cstdint>
#include <optional>

#include "tuner/model/materialize.h"
#include "tuner/model/recompute_space.h"

namespace spillway {

// Without swaps. nullopt: an allocation does not fit although everything that
// may be evicted is. Cost: O(evictions * tensors * neighbourhood).
std::optional<Fates> DtrFates(const RecomputeSpace& space,
                              int64_t budget_bytes);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_DTR_H_
