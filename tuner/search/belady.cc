#include "tuner/search/belady.h"

#include <iterator>
#include <set>
#include <tuple>

namespace spillway {
namespace {

class Filler {
 public:
  Filler(const StepModel& model, int64_t budget,
         const std::function<bool(size_t)>& may)
      : model_(model), budget_(budget), may_(may) {}

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
  const std::function<bool(size_t)>& may_;
  std::set<Key> here_;
  size_t next_gap_ = 0;
};

}  // namespace

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

void MoveByBelady(const StepModel& model, int64_t budget_bytes,
                  const std::function<bool(size_t gap)>& may,
                  MovedGaps& moved) {
  Filler(model, budget_bytes, may).Fill(moved);
}

}  // namespace spillway
