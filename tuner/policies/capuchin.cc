#include "tuner/policies/capuchin.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "base/interval.h"
#include "tuner/policies/link_timetable.h"
#include "tuner/policies/play_fates.h"

namespace spillway {
namespace {

class Capuchin {
 public:
  Capuchin(const RecomputeSpace& space, int64_t budget_bytes)
      : space_(space),
        model_(space.model),
        budget_bytes_(budget_bytes),
        fates_(KeepAll(space)) {
    int64_t now_ns = 0;
    for (const ModelStep& step : model_.steps) {
      start_ns_.push_back(now_ns);
      if (step.kind == StepKind::kCompute) now_ns += step.ns;
    }
    start_ns_.push_back(now_ns);
  }

  std::optional<Fates> Run() {
    if (!Occupy(fates_)) return std::nullopt;
    const std::vector<size_t> by_free_time = ByFreeTime();
    for (const size_t gap : by_free_time) {
      if (IsCrowded(gap)) SwapIfHidden(gap);
    }
    for (const size_t gap : ByPrice()) TryFate(gap, Fate::kRecomputed);
    for (const size_t gap : by_free_time) TryFate(gap, Fate::kSwapped);
    if (excess_bytes_ > 0) return std::nullopt;
    return std::move(fates_);
  }

 private:
  const Gap& gap(size_t index) const { return model_.gaps[index]; }
  const CopyOut& copy_of(size_t index) const {
    return model_.copies[static_cast<size_t>(gap(index).copy_out)];
  }
  int64_t LeavesNs(size_t index) const {
    return start_ns_[static_cast<size_t>(gap(index).last) + 1];
  }
  int64_t ReturnsNs(size_t index) const {
    return start_ns_[static_cast<size_t>(gap(index).kernel)];
  }

  int64_t FreeTimeNs(size_t index) const {
    return ReturnsNs(index) - LeavesNs(index) - copy_of(index).ns -
           gap(index).copy_in_ns;
  }

  std::vector<size_t> ByFreeTime() const {
    std::vector<size_t> gaps;
    for (size_t i = 0; i < model_.gaps.size(); ++i) {
      if (gap(i).is_movable) gaps.push_back(i);
    }
    std::ranges::stable_sort(gaps, std::greater(),
                             [&](size_t i) { return FreeTimeNs(i); });
    return gaps;
  }

  std::vector<size_t> ByPrice() const {
    std::vector<size_t> gaps;
    for (size_t i = 0; i < model_.gaps.size(); ++i) {
      if (space_.can_recompute[i] != 0) gaps.push_back(i);
    }
    std::ranges::stable_sort(gaps, {}, [&](size_t i) {
      return static_cast<double>(space_.remake_ns[i]) /
             static_cast<double>(gap(i).aligned_bytes);
    });
    return gaps;
  }

  // Counts the bytes of the step with these fates. False: there is none, or it
  // exceeds the budget as much as before; then nothing changes.
  bool Occupy(const Fates& fates) {
    const std::optional<JointStep> step = StepWith(space_, fates);
    if (!step) return false;
    std::vector<int64_t> bytes = OccupiedBytes(space_, *step);
    int64_t excess = 0;
    for (const int64_t at : bytes)
      excess += std::max<int64_t>(0, at - budget_bytes_);
    if (excess >= excess_bytes_) return false;
    excess_bytes_ = excess;
    bytes_ = std::move(bytes);
    return true;
  }

  // The steps of the gap from the first to the last that needs too many bytes;
  // empty if none does, or if the tensor is swapped.
  Interval Crowd(size_t index) const {
    Interval crowd;
    if (fates_.of_gap[index] == Fate::kSwapped) return crowd;
    for (int32_t k = gap(index).last + 1; k < gap(index).next; ++k) {
      if (bytes_[static_cast<size_t>(k)] <= budget_bytes_) continue;
      if (crowd.end == 0) crowd.begin = k;
      crowd.end = k + 1;
    }
    return crowd;
  }

  bool IsCrowded(size_t index) const { return Crowd(index).end > 0; }

  void SwapIfHidden(size_t index) {
    const Interval crowd = Crowd(index);
    const int64_t out_ns = copy_of(index).ns;
    const int64_t in_ns = gap(index).copy_in_ns;
    const int64_t out_start =
        out_ns > 0 ? out_.NextFree(LeavesNs(index), out_ns) : LeavesNs(index);
    const int64_t in_start =
        in_ns > 0 ? in_.LastFree(ReturnsNs(index), in_ns) : ReturnsNs(index);
    if (out_start + out_ns > start_ns_[static_cast<size_t>(crowd.begin)] ||
        in_start < start_ns_[static_cast<size_t>(crowd.end)]) {
      return;
    }
    TryFate(index, Fate::kSwapped);
    if (fates_.of_gap[index] != Fate::kSwapped) return;
    if (out_ns > 0) out_.Take(out_start, out_ns);
    if (in_ns > 0) in_.Take(in_start, in_ns);
  }

  void TryFate(size_t index, Fate fate) {
    if (excess_bytes_ == 0 || !IsCrowded(index)) return;
    const Fate before = fates_.of_gap[index];
    fates_.of_gap[index] = fate;
    if (!Occupy(fates_)) fates_.of_gap[index] = before;
  }

  const RecomputeSpace& space_;
  const StepModel& model_;
  const int64_t budget_bytes_;
  Fates fates_;
  std::vector<int64_t> start_ns_;  // of each step; one more for the end
  std::vector<int64_t> bytes_;     // by step, with fates_
  // The sum over all steps of the bytes above the budget.
  int64_t excess_bytes_ = std::numeric_limits<int64_t>::max();
  LinkTimetable out_;
  LinkTimetable in_;
};

}  // namespace

std::optional<Fates> CapuchinFates(const RecomputeSpace& space,
                                   int64_t budget_bytes) {
  return Capuchin(space, budget_bytes).Run();
}

}  // namespace spillway
