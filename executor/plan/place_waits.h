// Which steps wait for which, once every buffer has its offset.
#ifndef SPILLWAY_EXECUTOR_PLAN_PLACE_WAITS_H_
#define SPILLWAY_EXECUTOR_PLAN_PLACE_WAITS_H_

#include <vector>

#include "executor/plan/plan.h"

namespace spillway {

// Fills Step::waits. A step waits for
//   - the steps of other lanes that it depends on (data and control edges);
//   - where it is the first to use a buffer, the last uses, by each other lane,
//     of every buffer that had some of these bytes before it.
// So the wait for a copy-out stands where its bytes are needed, and no earlier.
// What is implied by other waits and by lane order is left out.
// Needs offsets, and that lifetimes of buffers that share bytes do not overlap.
// Cost: O((steps + buffers) log buffers).
void AddWaits(const IdMap<StepId, std::vector<StepId>>& dependencies,
              ExecutionPlan& plan);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_PLACE_WAITS_H_
