// The tuner that chooses the kernels' algorithms in addition to the swaps.
//
// It tries the fastest algorithms first. If the step fits with them and without
// swaps, the search ends. Else it tunes swaps under several limits on the
// workspaces, as long as a limit could give a better step. In the best step,
// kernels then take faster algorithms again wherever the plan has room for the
// workspace. Without measured times, the cost of a smaller workspace is
// unknown: the next limit is then used only if the step does not fit with the
// one before.
#ifndef SPILLWAY_TUNER_SEARCH_TUNE_ALGORITHMS_H_
#define SPILLWAY_TUNER_SEARCH_TUNE_ALGORITHMS_H_

#include "absl/status/statusor.h"
#include "tuner/model/kernel_algorithms.h"
#include "tuner/search/tune_swaps.h"

namespace spillway {

// TuneSwaps with algorithms. Nodes whose `known` is empty are as in `inputs`;
// the others have the times and workspaces of their algorithms. The bound holds
// for every choice of algorithms. Errors: as TuneSwaps, with the smallest
// workspaces.
absl::StatusOr<TunedStep> TuneAlgorithms(const TunerInputs& inputs,
                                         const KnownAlgorithms& known,
                                         const TunerOptions& options);

// The bound for the recipe's order of kernels and every choice of algorithms:
// uses the times of the fastest and the workspaces of the smallest.
StepTimeBound BoundOfAny(const TunerInputs& inputs,
                         const KnownAlgorithms& known,
                         const StepRecipe& recipe);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_TUNE_ALGORITHMS_H_
