#include "tuner/policies/play_fates.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace spillway {

std::optional<JointStep> StepWith(const RecomputeSpace& space, Fates fates) {
  std::shared_ptr<const RecomputedStep> recomputed =
      MakeRecomputedStep(space, fates);
  if (recomputed == nullptr) return std::nullopt;
  const std::vector<int32_t>& around = recomputed->around;
  JointStep step = {.fates = std::move(fates), .recomputed = recomputed};
  step.moved.assign(step.model().gaps.size(), 0);
  for (size_t i = 0; i < step.moved.size(); ++i) {
    if (around[i] < 0 || !step.model().gaps[i].is_movable) continue;
    const Fate fate = step.fates.of_gap[static_cast<size_t>(around[i])];
    step.moved[i] = fate == Fate::kSwapped ? 1 : 0;
  }
  return step;
}

int64_t MostBytes(const RecomputeSpace& space, const JointStep& step) {
  const std::vector<int64_t> bytes = OccupiedBytes(space, step);
  return bytes.empty() ? 0 : std::ranges::max(bytes);
}

std::optional<JointStep> PlayFates(const RecomputeSpace& space,
                                   int64_t budget_bytes, Fates fates) {
  std::optional<JointStep> step = StepWith(space, std::move(fates));
  if (!step || MostBytes(space, *step) > budget_bytes) return std::nullopt;
  step->played = SwapPlayer(step->model(), budget_bytes).Play(step->moved);
  if (!step->played.fits) return std::nullopt;
  return step;
}

}  // namespace spillway
