#include "tuner/fates/joint_player.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "tuner/search/belady.h"
#include "tuner/search/range_bytes.h"

namespace spillway {
namespace {

// Of all copies that leave the device; each occupies the host until the end,
// which is more than a plan needs.
int64_t HostBytesOf(const StepModel& model, const MovedGaps& moved) {
  std::vector<char> is_copied(model.copies.size(), 0);
  int64_t bytes = 0;
  for (size_t i = 0; i < moved.size(); ++i) {
    const auto copy = static_cast<size_t>(model.gaps[i].copy_out);
    if (moved[i] == 0 || is_copied[copy] != 0) continue;
    is_copied[copy] = 1;
    if (!model.copies[copy].is_feed) bytes += model.gaps[i].aligned_bytes;
  }
  return bytes;
}

}  // namespace

JointPlayer::JointPlayer(const RecomputeSpace& space, int64_t budget_bytes,
                         int64_t least_bytes, int64_t host_bytes)
    : space_(space),
      budget_bytes_(budget_bytes),
      least_bytes_(least_bytes),
      host_bytes_(host_bytes) {}

std::optional<JointStep> JointPlayer::Play(Fates fates) const {
  std::optional<Materialized> materialized = Materialize(space_, fates);
  if (!materialized) return std::nullopt;
  JointStep step = {.materialized = *std::move(materialized)};
  step.model = MakeStepModel(step.materialized.list, space_.profile);
  const std::vector<int32_t> around =
      SpaceGapsOf(space_, step.materialized, step.model);
  const auto fate = [&](size_t gap) -> Fate& {
    return fates.of_gap[static_cast<size_t>(around[gap])];
  };
  step.moved.assign(step.model.gaps.size(), 0);
  for (size_t i = 0; i < step.moved.size(); ++i) {
    if (around[i] < 0 || !step.model.gaps[i].is_movable) continue;
    step.moved[i] = fate(i) == Fate::kSwapped ? 1 : 0;
  }
  const auto may_move = [&](size_t i) {
    const Gap& gap = step.model.gaps[i];
    return around[i] >= 0 && gap.is_movable &&
           gap.aligned_bytes >= least_bytes_ && fate(i) == Fate::kKept;
  };
  RangeBytes bytes(BytesOf(step.model, step.moved));
  if (bytes.Most() > budget_bytes_) {
    MoveByBelady(step.model, budget_bytes_, may_move, step.moved);
    bytes = RangeBytes(BytesOf(step.model, step.moved));
  }
  if (bytes.Most() > budget_bytes_) return std::nullopt;
  std::vector<size_t> by_size;
  for (size_t i = 0; i < step.moved.size(); ++i) {
    if (step.moved[i] != 0) by_size.push_back(i);
  }
  std::ranges::stable_sort(by_size, std::greater(), [&](size_t i) {
    return step.model.gaps[i].aligned_bytes;
  });
  for (const size_t i : by_size) {
    const Gap& gap = step.model.gaps[i];
    if (bytes.Most(gap.last + 1, gap.next) + gap.aligned_bytes >
        budget_bytes_) {
      continue;
    }
    bytes.Add(gap.last + 1, gap.next, gap.aligned_bytes);
    step.moved[i] = 0;
  }
  if (HostBytesOf(step.model, step.moved) > host_bytes_) return std::nullopt;
  for (const size_t i : by_size) fate(i) = Fate::kKept;
  for (const size_t i : by_size) {
    if (step.moved[i] != 0) fate(i) = Fate::kSwapped;
  }
  step.played = SwapPlayer(step.model, budget_bytes_).Play(step.moved);
  if (!step.played.fits) return std::nullopt;
  step.fates = std::move(fates);
  return step;
}

std::vector<int64_t> OccupiedBytes(const RecomputeSpace& space,
                                   const JointStep& step) {
  const std::vector<int64_t> bytes = BytesOf(step.model, step.moved);
  std::vector<int64_t> most(space.model.steps.size(), 0);
  for (size_t k = 0; k < step.model.steps.size(); ++k) {
    int64_t& at = most[static_cast<size_t>(step.materialized.base_step[k])];
    at = std::max(at, bytes[k]);
  }
  return most;
}

}  // namespace spillway
