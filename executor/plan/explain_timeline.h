// Information that the spans of a step do not contain: the path of each swapped
// tensor, what the compute lane waits for, and what is recomputed. The same for
// predicted and for measured steps.
//
//   compute    [a]      [b]  (stall)  [c]
//   copy out      [out]                ^
//                   |                  |
//   copy in          ------------>[in]-
#ifndef SPILLWAY_EXECUTOR_PLAN_EXPLAIN_TIMELINE_H_
#define SPILLWAY_EXECUTOR_PLAN_EXPLAIN_TIMELINE_H_

#include "base/trace/timeline.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"

namespace spillway {

// Sets the flows and stalls of `timeline`, and Span::recomputes of its spans,
// which are those of all steps of the plan except aliases, named after their
// nodes; one track for each lane.
//
// Flows: one for each swap-in, from the swap-out of its tensor to the first
// kernel that reads it; one from the swap-in to each other reader.
//
// Stalls: the compute lane is idle between two kernels. Until the last copy
// that the second kernel waits for has ended, the lane waits for that copy;
// afterwards it waits for the host's call, that is, the time to launch a kernel
// that is ready.
//
// Cost: O(steps log steps + waits).
void ExplainTimeline(const ExecutionPlan& plan, const Graph& graph,
                     Timeline& timeline);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_EXPLAIN_TIMELINE_H_
