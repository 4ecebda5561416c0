#include "tests/tuner/all_fates.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace spillway::testing {
namespace {

class FateEnumeration {
 public:
  explicit FateEnumeration(const JointPlayer& player) : player_(player) {
    for (const size_t gap : OpenGaps(player.space())) {
      if (!player.IsPinned(gap)) gaps_.push_back(gap);
    }
  }

  std::optional<int64_t> LeastNs(Fates start) {
    Try(0, std::move(start));
    return least_ns_;
  }

 private:
  void Try(size_t next, Fates fates) {
    if (next == gaps_.size()) {
      const std::optional<JointStep> step = player_.Play(std::move(fates));
      if (!step) return;
      least_ns_ =
          std::min(least_ns_.value_or(std::numeric_limits<int64_t>::max()),
                   step->played.step_ns);
      return;
    }
    for (const Fate fate : {Fate::kKept, Fate::kSwapped, Fate::kRecomputed}) {
      if (!IsPossible(player_.space(), gaps_[next], fate)) continue;
      fates.of_gap[gaps_[next]] = fate;
      Try(next + 1, fates);
    }
  }

  const JointPlayer& player_;
  std::vector<size_t> gaps_;
  std::optional<int64_t> least_ns_;
};

}  // namespace

std::vector<size_t> OpenGaps(const RecomputeSpace& space) {
  std::vector<size_t> gaps;
  for (size_t i = 0; i < space.model.gaps.size(); ++i) {
    if (space.can_recompute[i] != 0 || space.model.gaps[i].is_movable) {
      gaps.push_back(i);
    }
  }
  return gaps;
}

bool IsPossible(const RecomputeSpace& space, size_t gap, Fate fate) {
  switch (fate) {
    case Fate::kKept:
      return true;
    case Fate::kSwapped:
      return space.model.gaps[gap].is_movable;
    case Fate::kRecomputed:
      return space.can_recompute[gap] != 0;
  }
  return false;
}

std::optional<int64_t> LeastNsOfAllFates(const JointPlayer& player,
                                         Fates start) {
  return FateEnumeration(player).LeastNs(std::move(start));
}

}  // namespace spillway::testing
