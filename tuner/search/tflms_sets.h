// Sets of TFLMS options to try, and the step that one of them makes.
#ifndef SPILLWAY_TUNER_SEARCH_TFLMS_SETS_H_
#define SPILLWAY_TUNER_SEARCH_TFLMS_SETS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lms/options.h"
#include "tuner/model/evaluate.h"
#include "tuner/model/step_recipe.h"

namespace spillway {

// At most `max` diverse sets, of both versions, for a graph with this many
// levels. The sets that were fastest for networks of the zoo come first. All
// other options are as in `common`.
std::vector<LmsOptions> UsualSets(const LmsOptions& common, int64_t num_levels,
                                  size_t max);

// All sets of a grid over the numbers and switches of both versions.
std::vector<LmsOptions> GridOfSets(const LmsOptions& common,
                                   int64_t num_levels);

// Sets of version 2. The numbers that are -1 in `common`, up to three, vary:
// one at a time over powers of two from the best set so far, until no set is
// better. `step_ns`: the time of a set, or nullopt if it does not fit; called
// once for each set.
void ForEachV2Set(
    const LmsOptions& common, int64_t num_levels,
    const std::function<std::optional<int64_t>(const LmsOptions& options)>&
        step_ns);

// A set of TFLMS options as a recipe, with the memory-saving order of nodes.
absl::StatusOr<StepRecipe> RecipeOf(const TunerInputs& inputs,
                                    const LmsOptions& options);

// "v1 chain_rule lb 1 ub 10000", "v2 threshold 3 ahead 1 groupby 0 sync 0".
std::string DescribeOptions(const LmsOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SEARCH_TFLMS_SETS_H_
