#include "tuner/policies/vdnn.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tuner/policies/saved_gaps.h"

namespace spillway {
namespace {

bool IsConvolution(const std::string& op) {
  return op.starts_with("Conv") && op.find("Backprop") == std::string::npos;
}

// By storage: the first step that reads it and whose node `is_layer` accepts;
// the number of steps if there is none.
template <typename IsLayer>
std::vector<int32_t> FirstReaders(const RecomputeSpace& space,
                                  IsLayer is_layer) {
  const StepList& list = space.list;
  std::vector<int32_t> first(list.storages.size(),
                             static_cast<int32_t>(list.steps.size()));
  for (size_t k = 0; k < list.steps.size(); ++k) {
    const ListedStep& step = list.steps[k];
    if (step.kind != StepKind::kCompute || !is_layer(step)) continue;
    for (const Slot& slot : list.inputs(step)) {
      if (slot.storage == kNoStorage) continue;
      int32_t& of = first[static_cast<size_t>(slot.storage)];
      of = std::min(of, static_cast<int32_t>(k));
    }
  }
  return first;
}

template <typename IsLayer>
Fates InputsSwapped(const RecomputeSpace& space, IsLayer is_layer) {
  const std::vector<int32_t> first = FirstReaders(space, is_layer);
  Fates fates = KeepAll(space);
  for (const int32_t index : SavedGaps(space.model)) {
    const Gap& gap = space.model.gaps[static_cast<size_t>(index)];
    if (!gap.is_movable) continue;
    if (first[static_cast<size_t>(gap.storage)] > gap.last) continue;
    fates.of_gap[static_cast<size_t>(index)] = Fate::kSwapped;
  }
  return fates;
}

}  // namespace

std::optional<Fates> VdnnAllFates(const RecomputeSpace& space,
                                  int64_t /*budget_bytes*/) {
  return InputsSwapped(space, [](const ListedStep&) { return true; });
}

std::optional<Fates> VdnnConvFates(const RecomputeSpace& space,
                                   int64_t /*budget_bytes*/) {
  return InputsSwapped(space, [&](const ListedStep& step) {
    return IsConvolution(space.graph.node(step.node).op);
  });
}

}  // namespace spillway
