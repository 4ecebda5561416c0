// Giving up prefetching where memory is short.
#ifndef SPILLWAY_EXECUTOR_PLAN_DELAY_SWAP_INS_H_
#define SPILLWAY_EXECUTOR_PLAN_DELAY_SWAP_INS_H_

#include <cstdint>

#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/order/schedule.h"

namespace spillway {

// A schedule in which some swap-ins run right before their first reader,
// instead of as soon as their trigger is done: they then take no memory before
// they have to, but compute waits for the copy.
struct DelayedSchedule {
  Schedule schedule = {};
  IdMap<NodeId, bool> is_delayed = {};
  int64_t num_delayed = 0;
};

// No swap-in delayed.
DelayedSchedule WithoutDelays(const Graph& graph, Schedule schedule);

// Every swap-in delayed.
DelayedSchedule WithAllDelayed(const Graph& graph, Schedule schedule);

// Delays the swap-ins whose bytes wait for their reader at the steps with the
// most live bytes of `plan`, which `delayed.schedule` was lowered to, or nearly
// as many. False, and nothing changed, if there are
// none: delaying does not help any more. Repeated from WithoutDelays on, this
// gives a sequence of schedules that need less and less device memory, the same
// for every budget. Cost: O((steps + edges) log steps).
bool DelaySwapInsAtPeak(const Graph& graph, const ExecutionPlan& plan,
                        DelayedSchedule& delayed);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_DELAY_SWAP_INS_H_
