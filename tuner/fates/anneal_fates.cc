#include "tuner/fates/anneal_fates.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace spillway {
namespace {

// The probability that a play changes one more tensor.
constexpr double kOneMore = 0.6;
// Tensors that are drawn to find one that is away at the same time.
constexpr int kDraws = 20;

class Annealer {
 public:
  Annealer(const JointPlayer& player, const AnnealOptions& options)
      : player_(player),
        space_(player.space()),
        options_(options),
        random_(std::mt19937_64::default_seed + options.seed) {
    double sum = 0;
    for (const size_t gap : options.gaps) {
      sum +=
          std::sqrt(static_cast<double>(space_.model.gaps[gap].aligned_bytes));
      weights_.push_back(sum);
    }
  }

  JointStep Run(JointStep start) {
    JointStep best = std::move(start);
    if (options_.gaps.empty()) return best;
    const double first_ns =
        options_.heat *
        static_cast<double>(best.played.step_ns - options_.bound_ns);
    JointStep now = best;
    for (int64_t i = 0; i < options_.plays; ++i) {
      if (best.played.step_ns <= options_.bound_ns || ShallStop(i)) break;
      const double left =
          1 - static_cast<double>(i) / static_cast<double>(options_.plays);
      const auto threshold_ns =
          static_cast<int64_t>(std::ceil(first_ns * left * left * left));
      std::optional<JointStep> step = player_.Play(
          Changed(now.fates),
          now.played.step_ns + std::max<int64_t>(threshold_ns, 1), &now);
      if (!step) continue;
      now = *std::move(step);
      if (now.Key() < best.Key()) best = now;
    }
    return best;
  }

  std::optional<JointStep> Fit(Fates now) {
    if (options_.gaps.empty()) return std::nullopt;
    std::optional<int64_t> least = player_.LeastBytes(now);
    for (int64_t i = 0; i < options_.plays && !ShallStop(i); ++i) {
      Fates fates = Changed(now);
      const std::optional<int64_t> bytes = player_.LeastBytes(fates);
      if (!bytes || (least && *bytes > *least)) continue;
      least = bytes;
      now = std::move(fates);
      if (*least > player_.budget_bytes()) continue;
      if (std::optional<JointStep> step = player_.Play(now)) return step;
    }
    return std::nullopt;
  }

 private:
  bool ShallStop(int64_t play) const {
    constexpr int64_t kPlaysBetween = 16;
    return play % kPlaysBetween == 0 && StopRequested(options_.stop);
  }

  Fates Changed(Fates fates) {
    const size_t gap = Draw();
    Change(gap, fates);
    while (Uniform() < kOneMore) {
      for (int i = 0; i < kDraws; ++i) {
        const size_t other = Draw();
        if (other == gap || !Overlap(gap, other)) continue;
        Change(other, fates);
        break;
      }
    }
    return fates;
  }

  bool Overlap(size_t a, size_t b) const {
    const Gap& first = space_.model.gaps[a];
    const Gap& second = space_.model.gaps[b];
    return first.last < second.next && second.last < first.next;
  }

  // Gives the tensor another fate, or flips whether it is retained.
  void Change(size_t gap, Fates& fates) {
    Fate& fate = fates.of_gap[gap];
    while (true) {
      switch (random_() % 4) {
        case 0:
          if (fate == Fate::kKept) continue;
          fate = Fate::kKept;
          return;
        case 1:
          if (fate == Fate::kSwapped || !space_.model.gaps[gap].is_movable) {
            continue;
          }
          fate = Fate::kSwapped;
          return;
        case 2:
          if (fate == Fate::kRecomputed || space_.can_recompute[gap] == 0) {
            continue;
          }
          fate = Fate::kRecomputed;
          return;
        default:
          if (fate != Fate::kRecomputed) continue;
          fates.released[gap] = OtherReleased(fates.released[gap]);
          return;
      }
    }
  }

  // Another number of clones that are not retained: mostly none or all.
  uint8_t OtherReleased(uint8_t now) {
    constexpr uint8_t kMost = 8;
    const auto some = static_cast<uint8_t>(1 + random_() % kMost);
    if (random_() % 2 == 0 && some != now) return some;
    return now == 0 ? kReleaseAll : 0;
  }

  size_t Draw() {
    const auto at =
        std::ranges::upper_bound(weights_, Uniform() * weights_.back());
    const auto index = static_cast<size_t>(at - weights_.begin());
    return options_.gaps[std::min(index, options_.gaps.size() - 1)];
  }

  // In [0, 1). The distributions of the standard library differ between
  // libraries.
  double Uniform() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }

  const JointPlayer& player_;
  const RecomputeSpace& space_;
  const AnnealOptions& options_;
  std::vector<double> weights_;  // by gap of the options: sum up to it
  std::mt19937_64 random_;
};

}  // namespace

JointStep AnnealFates(const JointPlayer& player, JointStep start,
                      const AnnealOptions& options) {
  return Annealer(player, options).Run(std::move(start));
}

std::optional<JointStep> FitFates(const JointPlayer& player, Fates start,
                                  const AnnealOptions& options) {
  return Annealer(player, options).Fit(std::move(start));
}

}  // namespace spillway
