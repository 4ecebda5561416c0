#include "tuner/search/swap_search.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tuner/search/belady.h"

namespace spillway {
namespace {

// The bytes at each step for a choice of gaps; updated incrementally.
class Occupancy {
 public:
  Occupancy(const StepModel& model, int64_t budget_bytes)
      : model_(model), budget_bytes_(budget_bytes) {
    for (const ModelStep& step : model.steps) {
      bytes_.push_back(step.live_bytes);
    }
  }

  void SetMoved(const MovedGaps& moved) {
    for (size_t k = 0; k < bytes_.size(); ++k) {
      bytes_[k] = model_.steps[k].live_bytes;
    }
    for (size_t i = 0; i < moved.size(); ++i) {
      if (moved[i] != 0) Add(i, -1);
    }
  }
  void Move(size_t gap) { Add(gap, -1); }
  void Stay(size_t gap) { Add(gap, 1); }

  // Whether the tensor could stay on the device during its gap.
  bool HasRoomFor(size_t gap) const {
    const Gap& g = model_.gaps[gap];
    for (int32_t k = g.last + 1; k < g.next; ++k) {
      ++work_;
      if (bytes_[static_cast<size_t>(k)] + g.aligned_bytes > budget_bytes_) {
        return false;
      }
    }
    return true;
  }

  // The step within the gap that exceeds the budget most; -1: no step does.
  int32_t WorstStep(size_t gap) const {
    const Gap& g = model_.gaps[gap];
    int32_t worst = -1;
    int64_t most = budget_bytes_;
    work_ += g.next - g.last;
    for (int32_t k = g.last + 1; k < g.next; ++k) {
      if (bytes_[static_cast<size_t>(k)] <= most) continue;
      most = bytes_[static_cast<size_t>(k)];
      worst = k;
    }
    return worst;
  }

  // Visits of a step so far; a play counts as several visits of each step.
  int64_t work() const { return work_; }
  void CountPlay() { work_ += 16 * static_cast<int64_t>(bytes_.size()); }

  int64_t Excess(int32_t step) const {
    return bytes_[static_cast<size_t>(step)] - budget_bytes_;
  }

 private:
  void Add(size_t gap, int64_t sign) {
    const Gap& g = model_.gaps[gap];
    work_ += g.next - g.last;
    for (int32_t k = g.last + 1; k < g.next; ++k) {
      bytes_[static_cast<size_t>(k)] += sign * g.aligned_bytes;
    }
  }

  const StepModel& model_;
  const int64_t budget_bytes_;
  std::vector<int64_t> bytes_;  // by step
  mutable int64_t work_ = 0;
};

class Improver {
 public:
  Improver(const SwapPlayer& player, const SwapSearchOptions& options,
           FoundSwaps& found)
      : player_(player),
        model_(player.model()),
        options_(options),
        found_(found),
        occupancy_(model_, player.budget_bytes()) {
    for (size_t i = 0; i < model_.gaps.size(); ++i) {
      const Gap& gap = model_.gaps[i];
      if (gap.is_movable && gap.aligned_bytes >= options.size_threshold_bytes) {
        candidates_.push_back(i);
      }
    }
    std::ranges::stable_sort(candidates_, std::greater(), [&](size_t i) {
      return model_.gaps[i].aligned_bytes;
    });
  }

  void Run() {
    TryWith(found_.moved);  // drops unnecessary moves
    bool has_improved = true;
    while (has_improved && MayGoOn()) {
      has_improved = false;
      for (const size_t gap : candidates_) {
        if (!MayGoOn()) break;
        has_improved |=
            found_.moved[gap] != 0 ? TryStaying(gap) : TryMoving(gap);
      }
    }
  }

 private:
  bool MayGoOn() const { return occupancy_.work() < options_.max_work; }

  // Keeps `gap` on the device; moves others until the bytes fit again.
  bool TryStaying(size_t gap) {
    bool is_better = false;
    for (const bool smallest_that_do : {true, false}) {
      MovedGaps moved = found_.moved;
      moved[gap] = 0;
      occupancy_.SetMoved(moved);
      if (Refill(gap, smallest_that_do, moved)) is_better |= TryWith(moved);
      if (is_better) break;
    }
    return is_better;
  }

  // Moves other tensors that are not used during `gap`; false if there are not
  // enough.
  bool Refill(size_t gap, bool smallest_that_do, MovedGaps& moved) {
    while (true) {
      const int32_t worst = occupancy_.WorstStep(gap);
      if (worst < 0) return true;
      const size_t other = Choose(gap, worst, smallest_that_do, moved);
      if (other == model_.gaps.size()) return false;
      moved[other] = 1;
      occupancy_.Move(other);
    }
  }

  // Of the tensors that could leave at `step`: the smallest that suffices, or
  // the one that is read again last; gaps.size() if there is none.
  size_t Choose(size_t gap, int32_t step, bool smallest_that_do,
                const MovedGaps& moved) const {
    const int64_t excess = occupancy_.Excess(step);
    size_t best = model_.gaps.size();
    std::pair<int64_t, int64_t> best_key;
    for (const size_t i : candidates_) {
      const Gap& g = model_.gaps[i];
      if (i == gap || moved[i] != 0 || !Spans(g, step)) continue;
      const bool suffices = g.aligned_bytes >= excess;
      const std::pair<int64_t, int64_t> key =
          !smallest_that_do ? std::pair<int64_t, int64_t>(-g.next, 0)
          : suffices        ? std::pair<int64_t, int64_t>(0, g.aligned_bytes)
                            : std::pair<int64_t, int64_t>(1, -g.aligned_bytes);
      if (best != model_.gaps.size() && key >= best_key) continue;
      best = i;
      best_key = key;
    }
    return best;
  }

  bool TryMoving(size_t gap) {
    MovedGaps moved = found_.moved;
    moved[gap] = 1;
    return TryWith(std::move(moved), gap);
  }

  // Keeps tensors on the device for which there is room, the largest first,
  // except `forced`. Accepts the result if it is better.
  bool TryWith(MovedGaps moved, size_t forced = SIZE_MAX) {
    occupancy_.SetMoved(moved);
    bool has_changed = moved != found_.moved;
    for (const size_t i : candidates_) {
      if (moved[i] == 0 || i == forced || !occupancy_.HasRoomFor(i)) continue;
      moved[i] = 0;
      occupancy_.Stay(i);
      has_changed = true;
    }
    if (!has_changed || moved == found_.moved) return false;
    occupancy_.CountPlay();
    PlayedStep played = player_.Play(moved);
    if (!played.fits || Key(played) >= Key(found_.played)) return false;
    found_.moved = std::move(moved);
    found_.played = std::move(played);
    return true;
  }

  static std::pair<int64_t, int64_t> Key(const PlayedStep& played) {
    return {played.step_ns, played.moved_bytes};
  }

  const SwapPlayer& player_;
  const StepModel& model_;
  const SwapSearchOptions& options_;
  FoundSwaps& found_;
  Occupancy occupancy_;
  std::vector<size_t> candidates_;  // largest first
};

}  // namespace

FoundSwaps SearchSwaps(const SwapPlayer& player,
                       const SwapSearchOptions& options) {
  FoundSwaps found;
  const StepModel& model = player.model();
  found.moved.assign(model.gaps.size(), 0);
  const auto may_move = [&](size_t i) {
    return model.gaps[i].is_movable &&
           model.gaps[i].aligned_bytes >= options.size_threshold_bytes;
  };
  MoveByBelady(model, player.budget_bytes(), may_move, found.moved);
  found.played = player.Play(found.moved);
  if (found.played.fits) Improver(player, options, found).Run();
  return found;
}

}  // namespace spillway
