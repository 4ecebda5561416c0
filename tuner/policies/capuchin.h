// Capuchin's policy: tensors are swapped while the copies are hidden, then
// computed again where that is cheapest. Source: Peng et al., "Capuchin:
// Tensor-based GPU Memory Management for Deep Learning" (ASPLOS 2020, doi
// 10.1145/3373376.3378505, section 4).
//
// 1. Gaps by falling free time, which is the kernel time of the gap less the
//    time of both copies. Each is swapped if its copies are hidden: beside the
//    copies that were chosen before, the tensor has left before the first step
//    of the gap that needs too many bytes, and returns after the last one and
//    before its reader. So no kernel waits, for the tensor or for its bytes.
// 2. Then gaps by rising kernel time per byte are recomputed.
// 3. Then the other gaps, recomputed ones too, are swapped by falling free
// time:
//    kernels wait.
// Each part ends when the step fits. A gap is skipped if all its steps fit
// already, or if its fate would not reduce the excess of bytes.
//
// Approximated: Capuchin measures one step and afterwards moves the begins of
// copies by feedback; here the player has them right at once. A clone is priced
// alone, while Capuchin adds the recomputation of its sources.
#ifndef SPILLWAY_TUNER_POLICIES_CAPUCHIN_H_
#define SPILLWAY_TUNER_POLICIES_CAPUCHIN_H_

#include <cstdint>
#include <optional>

#include "tuner/model/materialize.h"
#include "tuner/model/recompute_space.h"

namespace spillway {

// nullopt: the step does not fit. Cost: O(gaps^2) and that of materializing a
// step for each gap.
std::optional<Fates> CapuchinFates(const RecomputeSpace& space,
                                   int64_t budget_bytes);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_CAPUCHIN_H_
