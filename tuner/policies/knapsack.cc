#include "tuner/policies/knapsack.h"

#include <algorithm>
#include <vector>

#include "tuner/policies/play_fates.h"
#include "tuner/policies/saved_gaps.h"

namespace spillway {
namespace {

constexpr size_t kKnapsackUnits = 1000;
constexpr size_t kKnapsackFractions = 64;

struct Candidate {
  size_t gap = 0;
  size_t units = 0;  // of its bytes, rounded up
  int64_t ns = 0;    // of computing it again
};

std::vector<Candidate> Candidates(const RecomputeSpace& space) {
  std::vector<Candidate> found;
  int64_t total = 0;
  for (const int32_t index : SavedGaps(space.model)) {
    const auto gap = static_cast<size_t>(index);
    if (space.can_recompute[gap] == 0) continue;
    found.push_back({.gap = gap, .ns = space.remake_ns[gap]});
    total += space.model.gaps[gap].aligned_bytes;
  }
  for (Candidate& candidate : found) {
    const double part =
        static_cast<double>(space.model.gaps[candidate.gap].aligned_bytes) /
        static_cast<double>(total);
    const auto units = static_cast<size_t>(part * kKnapsackUnits);
    candidate.units =
        static_cast<double>(units) < part * kKnapsackUnits ? units + 1 : units;
  }
  return found;
}

class Knapsack {
 public:
  explicit Knapsack(const std::vector<Candidate>& items)
      : items_(items), is_saved_(items.size()) {
    std::vector<int64_t> most_ns(kKnapsackUnits + 1, 0);
    for (size_t i = 0; i < items.size(); ++i) {
      is_saved_[i].assign(kKnapsackUnits + 1, 0);
      for (size_t units = kKnapsackUnits; units >= items[i].units; --units) {
        const int64_t ns = most_ns[units - items[i].units] + items[i].ns;
        if (ns > most_ns[units]) {
          most_ns[units] = ns;
          is_saved_[i][units] = 1;
        }
        if (units == 0) break;
      }
    }
  }

  // The items to save, of at most `units` together, are kept; the others are
  // computed again.
  void Choose(size_t units, Fates& fates) const {
    for (size_t i = items_.size(); i-- > 0;) {
      const bool is_saved = is_saved_[i][units] != 0;
      fates.of_gap[items_[i].gap] = is_saved ? Fate::kKept : Fate::kRecomputed;
      if (is_saved) units -= items_[i].units;
    }
  }

 private:
  const std::vector<Candidate>& items_;
  // By item and capacity: whether the best choice of the items up to this one
  // has this one.
  std::vector<std::vector<char>> is_saved_;
};

}  // namespace

std::optional<Fates> KnapsackFates(const RecomputeSpace& space,
                                   int64_t budget_bytes) {
  const auto fits = [&](const Fates& fates) {
    const std::optional<JointStep> step = StepWith(space, fates);
    return step && MostBytes(space, *step) <= budget_bytes;
  };
  Fates fates = KeepAll(space);
  if (fits(fates)) return fates;
  const std::vector<Candidate> candidates = Candidates(space);
  const Knapsack knapsack(candidates);
  for (size_t i = kKnapsackFractions; i-- > 0;) {
    knapsack.Choose(kKnapsackUnits * i / kKnapsackFractions, fates);
    if (fits(fates)) return fates;
  }
  return std::nullopt;
}

}  // namespace spillway
