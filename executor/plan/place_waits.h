// Places the waits between steps, once every buffer has its offset.
#ifndef SPILLWAY_EXECUTOR_PLAN_PLACE_WAITS_H_
#define SPILLWAY_EXECUTOR_PLAN_PLACE_WAITS_H_

#include <vector>

#include "executor/plan/plan.h"

namespace spillway {

// Fills Step::waits. A step waits for
//   - the steps of other lanes that it depends on (data and control edges);
//   - if it is the first to use a buffer: the last uses, in each other lane, of
//     every buffer that occupied some of these bytes before.
// So the wait for a swap-out is placed where its bytes are needed, and not
// earlier. Waits that follow from other waits and from lane order are omitted.
// Needs offsets, and buffers that share bytes must not overlap in time.
// Cost: O((steps + buffers) log buffers).
void AddWaits(const IdMap<StepId, std::vector<StepId>>& dependencies,
              ExecutionPlan& plan);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_PLACE_WAITS_H_
