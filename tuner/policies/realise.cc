#include "tuner/policies/realise.h"

#include <array>
#include <utility>

#include "base/status_macros.h"
#include "lms/tflms/search.h"
#include "lms/v2/levels.h"
#include "tuner/fates/edit_for_fates.h"
#include "tuner/fates/joint_player.h"
#include "tuner/policies/play_fates.h"
#include "tuner/search/edit_for_swaps.h"
#include "tuner/search/swap_search.h"
#include "tuner/search/tflms_sets.h"
#include "tuner/search/tune_swaps.h"

namespace spillway {
namespace {

// Fractions of the budget that a policy leaves free for holes between buffers.
constexpr std::array<double, 6> kPolicySlacks = {0,    0.01, 0.02,
                                                 0.04, 0.08, 0.12};

// Rounds of placing buffers by the times of the previous placement.
constexpr int kPolicyRounds = 3;

constexpr size_t kMostSets = 20;

int64_t BudgetOf(const PolicyCase& policy_case, double slack) {
  return static_cast<int64_t>(
      static_cast<double>(*policy_case.inputs.compile.device_budget_bytes) *
      (1 - slack));
}

absl::Status DoesNotFit() {
  return ResourceExhausted(
      "the bytes of the tensors that stay on the device exceed the budget");
}

std::optional<JointStep> PlayChoice(const PolicyCase& policy_case, Fates fates,
                                    int64_t budget, bool swaps_rest) {
  std::optional<JointStep> step = PlayFates(policy_case.space, budget, fates);
  if (step || !swaps_rest) return step;
  return JointPlayer(policy_case.space, budget, 0).Play(std::move(fates));
}

}  // namespace

absl::StatusOr<EvaluatedRecipe> RealiseFates(const PolicyCase& policy_case,
                                             FatesPolicy policy,
                                             bool swaps_rest) {
  absl::Status failure = DoesNotFit();
  for (const double slack : kPolicySlacks) {
    const int64_t budget = BudgetOf(policy_case, slack);
    const std::optional<Fates> fates = policy(policy_case.space, budget);
    if (!fates) break;
    std::optional<JointStep> step =
        PlayChoice(policy_case, *fates, budget, swaps_rest);
    // Its fates may need more bytes than the policy believes.
    if (!step) {
      step =
          PlayChoice(policy_case, *fates, BudgetOf(policy_case, 0), swaps_rest);
    }
    if (!step) continue;
    SPILLWAY_ASSIGN_OR_RETURN(StepRecipe recipe,
                              RecipeFor(policy_case.space, *step));
    absl::StatusOr<EvaluatedRecipe> evaluated =
        EvaluateByTime(policy_case.inputs, std::move(recipe), kPolicyRounds);
    if (!absl::IsResourceExhausted(evaluated.status())) return evaluated;
    failure = evaluated.status();
  }
  return failure;
}

absl::StatusOr<EvaluatedRecipe> RealiseSwapSearch(
    const PolicyCase& policy_case) {
  const RecomputeSpace& space = policy_case.space;
  absl::Status failure = DoesNotFit();
  for (const double slack : kPolicySlacks) {
    const SwapPlayer player(space.model, BudgetOf(policy_case, slack));
    const FoundSwaps found = SearchSwaps(player, {});
    if (!found.played.fits) break;
    SwapEdit edit = EditForSwaps(space.graph, space.ops, space.schedule,
                                 space.model, found);
    absl::StatusOr<EvaluatedRecipe> evaluated = EvaluateByTime(
        policy_case.inputs,
        {.swaps = std::move(edit.swaps),
         .schedule = std::move(edit.schedule),
         .placement = {.expected_ns = std::move(edit.expected_ns)}},
        kPolicyRounds);
    if (!absl::IsResourceExhausted(evaluated.status())) return evaluated;
    failure = evaluated.status();
  }
  return failure;
}

absl::StatusOr<EvaluatedRecipe> RealiseUsualSets(const PolicyCase& policy_case,
                                                 LmsMode mode) {
  const TunerInputs& inputs = policy_case.inputs;
  absl::StatusOr<EvaluatedRecipe> best = DoesNotFit();
  absl::Status failure = best.status();
  const std::vector<LmsOptions> sets =
      UsualSets({}, FindV2Levels(inputs.graph).num_levels(), 2 * kMostSets);
  size_t tried = 0;
  for (const LmsOptions& options : sets) {
    if (options.mode != mode || tried++ == kMostSets) continue;
    absl::StatusOr<StepRecipe> recipe = RecipeOf(inputs, options);
    absl::StatusOr<EvaluatedRecipe> evaluated =
        recipe.ok() ? EvaluateByTime(inputs, *std::move(recipe), 1)
                    : recipe.status();
    if (!evaluated.ok()) {
      failure = evaluated.status();
    } else if (!best.ok() || evaluated->step.step_ns < best->step.step_ns) {
      best = std::move(evaluated);
    }
  }
  if (!best.ok()) return failure;
  return best;
}

absl::StatusOr<EvaluatedRecipe> RealiseTflms(const PolicyCase& policy_case) {
  const TunerInputs& inputs = policy_case.inputs;
  SPILLWAY_ASSIGN_OR_RETURN(
      const TflmsResult found,
      SearchTflms(
          {.options = {.mode = LmsMode::kV2},
           .limits = {.device_bytes = *inputs.compile.device_budget_bytes}},
          inputs.graph));
  SPILLWAY_RETURN_IF_ERROR(found.status);
  SPILLWAY_ASSIGN_OR_RETURN(StepRecipe recipe, RecipeOf(inputs, found.options));
  return EvaluateByTime(inputs, std::move(recipe), 1);
}

}  // namespace spillway
