// Choices of what to recompute from which the search for fates starts.
#ifndef SPILLWAY_TUNER_FATES_JOINT_SEEDS_H_
#define SPILLWAY_TUNER_FATES_JOINT_SEEDS_H_

#include <cstdint>
#include <vector>

#include "tuner/model/materialize.h"
#include "tuner/model/recompute_space.h"

namespace spillway {

// Fates without swaps: nothing recomputed; all storages of at least
// `least_bytes` whose kernel takes at most p nanoseconds per byte, for at most
// `max_prices` prices p; everything between the checkpoints of the policies
// cheap and sqrt (lms/recompute). Distinct; deterministic.
std::vector<Fates> UsualSeeds(const RecomputeSpace& space, int64_t least_bytes,
                              size_t max_prices);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_FATES_JOINT_SEEDS_H_
