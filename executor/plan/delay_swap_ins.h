// Gives up prefetching if memory is short.
#ifndef SPILLWAY_EXECUTOR_PLAN_DELAY_SWAP_INS_H_
#define SPILLWAY_EXECUTOR_PLAN_DELAY_SWAP_INS_H_

#include <cstdint>

#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/order/schedule.h"

namespace spillway {

// A schedule in which some swap-ins run right before their first reader,
// instead of as soon as their trigger is done: they then take memory as late as
// possible, but compute waits for the copy.
struct DelayedSchedule {
  Schedule schedule = {};
  IdMap<NodeId, bool> is_delayed = {};
  int64_t num_delayed = 0;
};

// No swap-in delayed.
DelayedSchedule WithoutDelays(const Graph& graph, Schedule schedule);

// Every swap-in delayed.
DelayedSchedule WithAllDelayed(const Graph& graph, Schedule schedule);

// Delays the swap-ins that have arrived but wait for their reader at the steps
// of `plan` with the most live bytes, or nearly as many. `delayed.schedule` was
// lowered to `plan`. Returns false and changes nothing if there are no such
// swap-ins: delaying no longer helps. Repeated calls, starting from
// WithoutDelays, give a sequence of schedules that need less and less device
// memory, the same for every budget. Cost: O((steps + edges) log steps).
bool DelaySwapInsAtPeak(const Graph& graph, const ExecutionPlan& plan,
                        DelayedSchedule& delayed);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_DELAY_SWAP_INS_H_
