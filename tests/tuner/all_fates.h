// All fates of a small step, tried one after another.
#ifndef SPILLWAY_TESTS_TUNER_ALL_FATES_H_
#define SPILLWAY_TESTS_TUNER_ALL_FATES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tuner/fates/joint_player.h"

namespace spillway::testing {

// The gaps with more than one fate.
std::vector<size_t> OpenGaps(const RecomputeSpace& space);

bool IsPossible(const RecomputeSpace& space, size_t gap, Fate fate);

// The least time over all fates of the open gaps that are not pinned; those of
// the others are as in `start`. Does not change what is retained. nullopt:
// nothing fits.
std::optional<int64_t> LeastNsOfAllFates(const JointPlayer& player,
                                         Fates start);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TUNER_ALL_FATES_H_
