#include "tuner/model/fates_of_plan.h"

#include <algorithm>
#include <vector>

namespace spillway {

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

}  // namespace spillway
