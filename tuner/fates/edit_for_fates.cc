#include "tuner/fates/edit_for_fates.h"

#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "lms/lms.h"
#include "tuner/search/edit_for_swaps.h"

namespace spillway {

absl::StatusOr<StepRecipe> RecipeFor(const RecomputeSpace& space,
                                     const JointStep& step) {
  StepRecipe recipe = {.recompute = PlanOf(space, step.materialized())};
  SPILLWAY_ASSIGN_OR_RETURN(
      const Graph recomputed,
      WithClones(recipe.recompute, space.ops, space.graph));
  SwapEdit edit = EditForSwaps(
      recomputed, space.ops, ScheduleOf(space, step.materialized()),
      step.model(), {.moved = step.moved, .played = step.played});
  recipe.swaps = std::move(edit.swaps);
  recipe.schedule = std::move(edit.schedule);
  recipe.placement.expected_ns = std::move(edit.expected_ns);
  recipe.fates = std::make_shared<FateChoice>(
      FateChoice{.schedule = space.schedule,
                 .fates = step.fates,
                 .budget_bytes = step.budget_bytes});
  return recipe;
}

}  // namespace spillway
