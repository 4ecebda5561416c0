// Converts a choice of fates to a recipe.
#ifndef SPILLWAY_TUNER_FATES_EDIT_FOR_FATES_H_
#define SPILLWAY_TUNER_FATES_EDIT_FOR_FATES_H_

#include "absl/status/statusor.h"
#include "tuner/fates/joint_player.h"
#include "tuner/model/step_recipe.h"

namespace spillway {

// Clones, swaps, order and expected times. Has no name and no algorithms.
// Errors: INTERNAL if the clones change what the graph computes.
absl::StatusOr<StepRecipe> RecipeFor(const RecomputeSpace& space,
                                     const JointStep& step);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_FATES_EDIT_FOR_FATES_H_
