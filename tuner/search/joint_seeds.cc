#include "tuner/search/joint_seeds.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "lms/options.h"
#include "lms/recompute/plan_recompute.h"

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

// The values that the plan's clones make: of each of their storages, the
// longest gap is bridged.
Fates FatesOf(const RecomputePlan& plan, const RecomputeSpace& space) {
  Fates fates = KeepAll(space);
  std::vector<StorageIndex> index_of(space.graph.num_values(), kNoStorage);
  for (const ListedStep& step : space.list.steps) {
    for (const Slot& slot : space.list.outputs(step)) {
      index_of[slot.value.index()] = slot.storage;
    }
  }
  const auto bridge = [&](ValueId value) {
    const StorageIndex storage = index_of[value.index()];
    if (storage == kNoStorage) return;
    int32_t longest = -1;
    for (const int32_t g : space.gaps_of[static_cast<size_t>(storage)]) {
      const auto length = [&](int32_t gap) {
        const Gap& of = space.model.gaps[static_cast<size_t>(gap)];
        return of.next - of.last;
      };
      if (space.can_recompute[static_cast<size_t>(g)] == 0) continue;
      if (longest < 0 || length(g) > length(longest)) longest = g;
    }
    if (longest < 0) return;
    fates.of_gap[static_cast<size_t>(longest)] = Fate::kRecomputed;
  };
  for (const Clone& clone : plan.clones) {
    const Node& original = space.graph.node(clone.original);
    if (clone.derived_output >= 0) {
      bridge(original.outputs[static_cast<size_t>(clone.derived_output)]);
    } else {
      std::ranges::for_each(original.outputs, bridge);
    }
  }
  return fates;
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
