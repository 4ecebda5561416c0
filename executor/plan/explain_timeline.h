// What the spans of a plan's step do not say by themselves: where each swapped
// tensor goes, and what the compute lane waits for. The same for predicted and
// for measured steps.
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

// Sets the flows and stalls of `timeline`, whose spans are those of all steps
// of the plan but aliases, named for their nodes; one track for each lane.
//
// Flows: one for each swap-in, from the swap-out of its tensor to the first
// kernel that reads it; one from the swap-in to each other reader.
//
// Stalls: the compute lane stands still between two kernels. Until the last of
// the copies that the second one waits for has ended, it waits for that copy;
// from then on for the host's call, which is whatever it takes to start a
// kernel that could run.
//
// Cost: O(steps log steps + waits).
void ExplainTimeline(const ExecutionPlan& plan, const Graph& graph,
                     Timeline& timeline);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_EXPLAIN_TIMELINE_H_
