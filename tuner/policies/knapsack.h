// The memory budget of PyTorch 2's partitioner: of the activations that could
// be saved for the backward phase, those are saved whose recomputation would
// take the most time, within a fraction of all their bytes. Source: functorch's
// partitioner, github.com/pytorch/pytorch, pull request 126320 ("activation
// memory budget"), solver "dp".
//
// Candidates are the tensors of SavedGaps (saved_gaps.h) that a clone can make
// again; each has the time of that clone alone. The 0/1 knapsack is solved
// exactly for sizes that are rounded up to 1/1000 of all their bytes.
//
// Approximated: PyTorch's fraction knows nothing of the peak, so its user
// lowers it until the step fits. Here the largest of 64 equally spaced
// fractions is taken with which it does. PyTorch's min cut, which chooses the
// candidates, is left out: all saved tensors are candidates.
#ifndef SPILLWAY_TUNER_POLICIES_KNAPSACK_H_
#define SPILLWAY_TUNER_POLICIES_KNAPSACK_H_

#include <cstdint>
#include <optional>

#include "tuner/model/materialize.h"
#include "tuner/model/recompute_space.h"

namespace spillway {

// Without swaps. nullopt: the step does not fit with any fraction. Cost: O(1000
// * candidates) and at most 65 times that of Materialize.
std::optional<Fates> KnapsackFates(const RecomputeSpace& space,
                                   int64_t budget_bytes);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_KNAPSACK_H_
