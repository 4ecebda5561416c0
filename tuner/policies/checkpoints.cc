#include "tuner/policies/checkpoints.h"

#include "absl/status/statusor.h"
#include "lms/options.h"
#include "lms/recompute/plan_recompute.h"
#include "tuner/model/fates_of_plan.h"

namespace spillway {
namespace {

std::optional<Fates> PlannedFates(const RecomputeSpace& space,
                                  RecomputePolicy policy) {
  const absl::StatusOr<RecomputePlan> plan =
      PlanRecompute({.recompute = {.policy = policy}}, space.ops, space.graph);
  if (!plan.ok()) return std::nullopt;
  return FatesOf(*plan, space);
}

}  // namespace

std::optional<Fates> CheapFates(const RecomputeSpace& space,
                                int64_t /*budget_bytes*/) {
  return PlannedFates(space, RecomputePolicy::kCheap);
}

std::optional<Fates> SqrtFates(const RecomputeSpace& space,
                               int64_t /*budget_bytes*/) {
  return PlannedFates(space, RecomputePolicy::kSqrt);
}

}  // namespace spillway
