// Converts a plan of clones (lms/recompute) to fates of tensors.
#ifndef SPILLWAY_TUNER_MODEL_FATES_OF_PLAN_H_
#define SPILLWAY_TUNER_MODEL_FATES_OF_PLAN_H_

#include "lms/recompute/recompute_plan.h"
#include "tuner/model/materialize.h"
#include "tuner/model/recompute_space.h"

namespace spillway {

// Of each storage that the plan's clones make, the longest gap that a clone can
// bridge has the fate kRecomputed; all else is kept. `plan`: for space.graph.
// Cost: O(slots + clones).
Fates FatesOf(const RecomputePlan& plan, const RecomputeSpace& space);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MODEL_FATES_OF_PLAN_H_
