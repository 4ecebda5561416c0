#include "tuner/policies/same_for_all.h"

namespace spillway {

std::optional<Fates> KeepAllFates(const RecomputeSpace& space,
                                  int64_t /*budget_bytes*/) {
  return KeepAll(space);
}

std::optional<Fates> SwapAllFates(const RecomputeSpace& space,
                                  int64_t /*budget_bytes*/) {
  Fates fates = KeepAll(space);
  for (size_t i = 0; i < space.model.gaps.size(); ++i) {
    if (space.model.gaps[i].is_movable) fates.of_gap[i] = Fate::kSwapped;
  }
  return fates;
}

std::optional<Fates> RecomputeAllFates(const RecomputeSpace& space,
                                       int64_t /*budget_bytes*/) {
  Fates fates = KeepAll(space);
  for (size_t i = 0; i < space.num_gaps(); ++i) {
    if (space.can_recompute[i] == 0) continue;
    fates.of_gap[i] = Fate::kRecomputed;
    fates.released[i] = kReleaseAll;
  }
  return fates;
}

}  // namespace spillway
