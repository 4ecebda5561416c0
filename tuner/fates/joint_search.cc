#include "tuner/fates/joint_search.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "tuner/fates/anneal_fates.h"
#include "tuner/fates/joint_seeds.h"
#include "tuner/search/range_bytes.h"

namespace spillway {
namespace {

// Thresholds for the price of recomputation among the usual seeds.
constexpr size_t kPrices = 12;

class Search {
 public:
  Search(const JointPlayer& player, const JointSearchOptions& options)
      : player_(player), space_(player.space()), options_(options) {
    for (size_t i = 0; i < space_.model.gaps.size(); ++i) {
      const Gap& gap = space_.model.gaps[i];
      if (gap.aligned_bytes >= options.size_threshold_bytes &&
          !player.IsPinned(i) && (MaySwap(i) || MayRecompute(i))) {
        candidates_.push_back(i);
      }
    }
    std::ranges::stable_sort(candidates_, std::greater(), [&](size_t i) {
      return space_.model.gaps[i].aligned_bytes;
    });
  }

  std::optional<JointStep> Run(const std::vector<Fates>& more) {
    std::vector<Fates> seeds = more;
    if (options_.usual_seeds) {
      for (Fates& seed :
           UsualSeeds(space_, options_.size_threshold_bytes, kPrices)) {
        seeds.push_back(std::move(seed));
      }
    }
    std::optional<JointStep> best;
    for (const Fates& seed : seeds) {
      std::optional<JointStep> step = player_.Play(seed);
      if (step) step = WithoutNeedless(*std::move(step));
      if (step && (!best || step->Key() < best->Key())) best = std::move(step);
    }
    if (!best) best = Fit(seeds);
    if (!best || options_.plays == 0) return best;
    best = AnnealFates(player_, *std::move(best),
                       {.gaps = candidates_,
                        .plays = options_.plays,
                        .bound_ns = options_.bound_ns,
                        .stop = options_.stop,
                        .heat = options_.heat,
                        .seed = options_.seed});
    Improve(*best);
    return best;
  }

 private:
  // Makes one of the seeds fit: the one that needs the fewest bytes.
  std::optional<JointStep> Fit(const std::vector<Fates>& seeds) const {
    const Fates* least = nullptr;
    int64_t least_bytes = 0;
    for (const Fates& seed : seeds) {
      const std::optional<int64_t> bytes = player_.LeastBytes(seed);
      if (!bytes || (least != nullptr && *bytes >= least_bytes)) continue;
      least = &seed;
      least_bytes = *bytes;
    }
    if (least == nullptr) return std::nullopt;
    return FitFates(player_, *least,
                    {.gaps = candidates_,
                     .plays = options_.fit_plays,
                     .stop = options_.stop});
  }

  bool MaySwap(size_t gap) const { return space_.model.gaps[gap].is_movable; }
  bool MayRecompute(size_t gap) const { return space_.can_recompute[gap] != 0; }

  bool MayGoOn(const JointStep& step) const {
    return plays_ < options_.plays / 2 &&
           step.played.step_ns > options_.bound_ns &&
           !StopRequested(options_.stop);
  }

  // Keeps recomputed tensors for which there is room, the most expensive first.
  std::optional<JointStep> WithoutNeedless(JointStep step) const {
    RangeBytes occupied(OccupiedBytes(space_, step));
    std::vector<size_t> gaps;
    for (const size_t i : candidates_) {
      if (step.fates.of_gap[i] == Fate::kRecomputed) gaps.push_back(i);
    }
    std::ranges::stable_sort(gaps, std::greater(),
                             [&](size_t i) { return space_.remake_ns[i]; });
    Fates fates = step.fates;
    bool has_changed = false;
    for (const size_t i : gaps) {
      const Gap& gap = space_.model.gaps[i];
      if (occupied.Most(gap.last + 1, gap.next) + gap.aligned_bytes >
          player_.budget_bytes()) {
        continue;
      }
      occupied.Add(gap.last + 1, gap.next, gap.aligned_bytes);
      fates.of_gap[i] = Fate::kKept;
      has_changed = true;
    }
    if (!has_changed) return step;
    std::optional<JointStep> less = player_.Play(std::move(fates));
    if (less && less->Key() < step.Key()) return less;
    return step;
  }

  void Improve(JointStep& best) {
    bool has_improved = true;
    while (has_improved && MayGoOn(best)) {
      has_improved = false;
      for (const size_t gap : candidates_) {
        if (!MayGoOn(best)) break;
        has_improved |= TryFates(gap, best);
      }
    }
  }

  bool TryFates(size_t gap, JointStep& best) {
    switch (best.fates.of_gap[gap]) {
      case Fate::kKept:
        return (MayRecompute(gap) && IsWorth(gap, best) &&
                TryFate(gap, Fate::kRecomputed, best)) ||
               (MaySwap(gap) && TryFate(gap, Fate::kSwapped, best));
      case Fate::kSwapped:
        return TryFate(gap, Fate::kKept, best) ||
               (MayRecompute(gap) && IsWorth(gap, best) &&
                TryFate(gap, Fate::kRecomputed, best));
      case Fate::kRecomputed:
        return TryFate(gap, Fate::kKept, best) ||
               (MaySwap(gap) && TryFate(gap, Fate::kSwapped, best)) ||
               TryReleased(gap, best);
    }
    return false;
  }

  // Whether the kernels of a step with one more clone could still take less
  // time than the best step.
  bool IsWorth(size_t gap, const JointStep& best) const {
    return best.model().kernels_ns + space_.remake_ns[gap] <
           best.played.step_ns;
  }

  bool TryFate(size_t gap, Fate fate, JointStep& best) {
    Fates fates = best.fates;
    fates.of_gap[gap] = fate;
    return Accept(std::move(fates), best);
  }

  bool TryReleased(size_t gap, JointStep& best) {
    Fates fates = best.fates;
    fates.released[gap] = fates.released[gap] == 0 ? kReleaseAll : 0;
    return Accept(std::move(fates), best);
  }

  bool Accept(Fates fates, JointStep& best) {
    ++plays_;
    std::optional<JointStep> step =
        player_.Play(std::move(fates), best.played.step_ns + 1, &best);
    if (!step || step->Key() >= best.Key()) return false;
    best = *std::move(step);
    return true;
  }

  const JointPlayer& player_;
  const RecomputeSpace& space_;
  const JointSearchOptions& options_;
  std::vector<size_t> candidates_;  // gaps, the largest first
  int64_t plays_ = 0;               // of the local search
};

}  // namespace

std::optional<JointStep> SearchFates(const JointPlayer& player,
                                     const std::vector<Fates>& seeds,
                                     const JointSearchOptions& options) {
  return Search(player, options).Run(seeds);
}

}  // namespace spillway
