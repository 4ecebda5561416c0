// Plays exactly the fates that a policy chooses. JointPlayer
// (tuner/fates/joint_player.h) would swap further tensors if the step does not
// fit, and keep swapped ones for which there is room, which would improve the
// policy.
#ifndef SPILLWAY_TUNER_POLICIES_PLAY_FATES_H_
#define SPILLWAY_TUNER_POLICIES_PLAY_FATES_H_

#include <cstdint>
#include <optional>

#include "tuner/fates/joint_player.h"
#include "tuner/model/materialize.h"
#include "tuner/model/recompute_space.h"

namespace spillway {

// The step with these fates, not yet played. A swap of a gap that cannot be
// moved is ignored. nullopt: Materialize fails.
std::optional<JointStep> StepWith(const RecomputeSpace& space, Fates fates);

// The most device bytes of the step while its tensors are where their fates
// say.
int64_t MostBytes(const RecomputeSpace& space, const JointStep& step);

// StepWith, played. nullopt: it does not fit `budget_bytes`.
std::optional<JointStep> PlayFates(const RecomputeSpace& space,
                                   int64_t budget_bytes, Fates fates);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_PLAY_FATES_H_
