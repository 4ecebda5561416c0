// The tuner, choosing the kernels' algorithms as well as the swaps.
//
// The fastest algorithms come first; if the step fits with them and without
// swaps, that is it. Else swaps are tuned under several limits on the
// workspaces, as far as each could be better. In the best step found, kernels
// then take faster algorithms again wherever the plan has room beside them.
// Without measured times nobody knows what a smaller workspace costs: then the
// next limit is only for steps that do not fit with the one before.
#ifndef SPILLWAY_TUNER_SEARCH_TUNE_ALGORITHMS_H_
#define SPILLWAY_TUNER_SEARCH_TUNE_ALGORITHMS_H_

#include "absl/status/statusor.h"
#include "tuner/model/kernel_algorithms.h"
#include "tuner/search/tune_swaps.h"

namespace spillway {

// As TuneSwaps, for nodes whose `known` is empty as `inputs` has them; of the
// others times and workspaces are those of the algorithms. The bound holds for
// every choice of algorithms. Errors: as TuneSwaps, with the least workspaces.
absl::StatusOr<TunedStep> TuneAlgorithms(const TunerInputs& inputs,
                                         const KnownAlgorithms& known,
                                         const TunerOptions& options);

// The bound for the kernels' order in a recipe, for every choice of algorithms:
// of the times of the fastest and the workspaces of the smallest.
StepTimeBound BoundOfAny(const TunerInputs& inputs,
                         const KnownAlgorithms& known,
                         const StepRecipe& recipe);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_TUNE_ALGORITHMS_H_
