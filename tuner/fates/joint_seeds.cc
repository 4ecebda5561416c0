#include "tuner/fates/joint_seeds.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "lms/options.h"
#include "lms/recompute/plan_recompute.h"
#include "tuner/model/fates_of_plan.h"

namespace spillway {
namespace {

// Recomputable gaps of the model, the cheapest per byte first.
std::vector<size_t> ByPrice(const RecomputeSpace& space, int64_t least_bytes) {
  std::vector<size_t> gaps;
  for (size_t i = 0; i < space.model.gaps.size(); ++i) {
    if (space.can_recompute[i] != 0 &&
        space.model.gaps[i].aligned_bytes >= least_bytes) {
      gaps.push_back(i);
    }
  }
  const auto price = [&](size_t i) {
    return static_cast<double>(space.remake_ns[i]) /
           static_cast<double>(space.model.gaps[i].aligned_bytes);
  };
  std::ranges::stable_sort(
      gaps, [&](size_t a, size_t b) { return price(a) < price(b); });
  return gaps;
}

}  // namespace

std::vector<Fates> UsualSeeds(const RecomputeSpace& space, int64_t least_bytes,
                              size_t max_prices) {
  std::vector<Fates> seeds = {KeepAll(space)};
  const std::vector<size_t> gaps = ByPrice(space, least_bytes);
  const auto add = [&](Fates fates) {
    for (const Fates& seed : seeds) {
      if (seed.of_gap == fates.of_gap) return;
    }
    seeds.push_back(std::move(fates));
  };
  for (size_t i = 1; i <= max_prices; ++i) {
    Fates fates = KeepAll(space);
    for (size_t g = 0; g < gaps.size() * i / max_prices; ++g) {
      fates.of_gap[gaps[g]] = Fate::kRecomputed;
    }
    add(std::move(fates));
  }
  for (const RecomputePolicy policy :
       {RecomputePolicy::kCheap, RecomputePolicy::kSqrt}) {
    const absl::StatusOr<RecomputePlan> plan = PlanRecompute(
        {.size_threshold_bytes = least_bytes, .recompute = {.policy = policy}},
        space.ops, space.graph);
    if (plan.ok()) add(FatesOf(*plan, space));
  }
  return seeds;
}

}  // namespace spillway
