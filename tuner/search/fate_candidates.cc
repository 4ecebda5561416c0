#include "tuner/search/fate_candidates.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "tuner/search/edit_for_fates.h"
#include "tuner/search/joint_search.h"

namespace spillway {
namespace {

// Fractions of the budget that the search reserves for holes between buffers.
constexpr std::array<double, 6> kFateSlacks = {0,    0.005, 0.01,
                                               0.02, 0.04,  0.08};

// Tensors below this fraction of the unconstrained peak are always kept.
constexpr int64_t kKeptPart = 16384;

JointBound BoundIn(const RecomputeSpace& space, int64_t budget_bytes,
                   int64_t known_ns) {
  return FindJointBound({.model = space.model,
                         .remake_ns = LeastRemakeNs(space),
                         .profile = space.profile,
                         .budget_bytes = budget_bytes},
                        known_ns);
}

}  // namespace

RecomputeSpace SpaceOf(const TunerInputs& inputs, const Schedule& schedule) {
  return MakeRecomputeSpace({.graph = inputs.graph,
                             .ops = inputs.ops,
                             .schedule = schedule,
                             .compile = inputs.compile,
                             .kernel_ns = inputs.kernel_ns,
                             .derived = inputs.choices->derived,
                             .profile = inputs.profile,
                             .recompute = inputs.choices->options});
}

absl::Status OfferFates(const TunerInputs& inputs, const Schedule& schedule,
                        const FateCandidates& candidates) {
  const RecomputeSpace space = SpaceOf(inputs, schedule);
  const JointBound bound = BoundIn(space, candidates.budget_bytes, 0);
  if (!bound.is_feasible) return absl::OkStatus();
  JointSearchOptions search = {
      .size_threshold_bytes = std::max(candidates.size_threshold_bytes,
                                       space.model.peak_bytes / kKeptPart),
      .bound_ns = bound.step_ns};
  if (candidates.takes_first) search.max_work = 0;
  std::vector<Fates> seeds;
  for (const double slack : kFateSlacks) {
    if (candidates.is_settled(bound.step_ns)) break;
    const JointPlayer player(
        space,
        static_cast<int64_t>(static_cast<double>(candidates.budget_bytes) *
                             (1 - slack)),
        search.size_threshold_bytes,
        inputs.compile.host_budget_bytes.value_or(JointPlayer::kNoLimit));
    const std::optional<JointStep> found = SearchFates(player, seeds, search);
    if (!found || candidates.is_settled(found->played.step_ns)) break;
    if (!seeds.empty() && found->fates.of_gap == seeds[0].of_gap) continue;
    SPILLWAY_ASSIGN_OR_RETURN(StepRecipe recipe, RecipeFor(space, *found));
    recipe.name =
        fmt::format("joint, {:.1f} % of the budget kept free", 100 * slack);
    candidates.offer(std::move(recipe));
    seeds = {found->fates};
    search.usual_seeds = false;
  }
  return absl::OkStatus();
}

JointBound BoundOfFates(const TunerInputs& inputs, const Schedule& schedule,
                        int64_t budget_bytes, int64_t known_ns) {
  return BoundIn(SpaceOf(inputs, schedule), budget_bytes, known_ns);
}

}  // namespace spillway
