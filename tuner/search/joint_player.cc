#include "tuner/search/joint_player.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "tuner/search/range_bytes.h"

namespace spillway {
namespace {

// Device bytes by step of a model for a choice of gaps.
std::vector<int64_t> BytesOf(const StepModel& model, const MovedGaps& moved) {
  std::vector<int64_t> change(model.steps.size() + 1, 0);
  for (size_t i = 0; i < moved.size(); ++i) {
    if (moved[i] == 0) continue;
    const Gap& gap = model.gaps[i];
    change[static_cast<size_t>(gap.last) + 1] -= gap.aligned_bytes;
    change[static_cast<size_t>(gap.next)] += gap.aligned_bytes;
  }
  std::vector<int64_t> bytes(model.steps.size());
  int64_t away = 0;
  for (size_t k = 0; k < model.steps.size(); ++k) {
    away += change[k];
    bytes[k] = model.steps[k].live_bytes + away;
  }
  return bytes;
}

// Belady's rule, from a choice of gaps: at each step with too many bytes, the
// tensors that are read again last leave.
class Filler {
 public:
  Filler(const StepModel& model, int64_t budget,
         std::function<bool(size_t)> may)
      : model_(model), budget_(budget), may_(std::move(may)) {}

  void Fill(MovedGaps& moved) {
    const std::vector<int64_t> before = BytesOf(model_, moved);
    std::vector<int64_t> returns(model_.steps.size() + 1, 0);
    int64_t away = 0;
    for (size_t k = 0; k < model_.steps.size(); ++k) {
      MoveTo(static_cast<int32_t>(k), moved);
      away -= returns[k];
      int64_t excess = before[k] - away - budget_;
      while (excess > 0 && !here_.empty()) {
        const auto index = static_cast<size_t>(std::get<2>(*here_.begin()));
        const Gap& gap = model_.gaps[index];
        here_.erase(here_.begin());
        moved[index] = 1;
        returns[static_cast<size_t>(gap.next)] += gap.aligned_bytes;
        away += gap.aligned_bytes;
        excess -= gap.aligned_bytes;
      }
    }
  }

 private:
  using Key = std::tuple<int32_t, int32_t, int32_t>;

  void MoveTo(int32_t step, const MovedGaps& moved) {
    for (; next_gap_ < model_.gaps.size() && model_.gaps[next_gap_].last < step;
         ++next_gap_) {
      const Gap& gap = model_.gaps[next_gap_];
      if (moved[next_gap_] != 0 || gap.next <= step || !may_(next_gap_)) {
        continue;
      }
      const int32_t written =
          model_.copies[static_cast<size_t>(gap.copy_out)].written;
      here_.emplace(-gap.next, written, static_cast<int32_t>(next_gap_));
    }
    while (!here_.empty() && -std::get<0>(*here_.rbegin()) <= step) {
      here_.erase(std::prev(here_.end()));
    }
  }

  const StepModel& model_;
  const int64_t budget_;
  const std::function<bool(size_t)> may_;
  std::set<Key> here_;
  size_t next_gap_ = 0;
};

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
    Filler(step.model, budget_bytes_, may_move).Fill(step.moved);
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
