// Adds the clones of a RecomputePlan to the graph.
#ifndef SPILLWAY_LMS_RECOMPUTE_APPLY_RECOMPUTE_PLAN_H_
#define SPILLWAY_LMS_RECOMPUTE_APPLY_RECOMPUTE_PLAN_H_

#include "absl/status/status.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "lms/recompute/recompute_plan.h"

namespace spillway {

// INVALID_ARGUMENT unless the graph has all nodes and values of the plan, every
// clone reads only earlier ones, and the derived nodes exist.
absl::Status CheckIds(const RecomputePlan& plan, const OpRegistry& ops,
                      const Graph& graph);

// Requires CheckIds. Adds clone c as node number (nodes of the graph) + c,
// named lms/recompute_<original>, with the triggers' control edges; reroutes
// its readers; then adds the orders. Removes nothing; existing ids do not
// change. Cost: O(clones + their uses).
void ApplyRecomputePlan(const RecomputePlan& plan, const OpRegistry& ops,
                        Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_RECOMPUTE_APPLY_RECOMPUTE_PLAN_H_
