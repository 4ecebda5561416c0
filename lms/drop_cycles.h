// Takes swaps out of a plan whose triggers would close a cycle.
#ifndef SPILLWAY_LMS_DROP_CYCLES_H_
#define SPILLWAY_LMS_DROP_CYCLES_H_

#include <cstdint>

#include "graph/graph.h"
#include "lms/swap_plan.h"

namespace spillway {

// After this the plan's edit of the acyclic `graph` is acyclic. A swap is
// dropped as a whole if one of its triggers would close a cycle with those of
// the swaps before it, and the plan says so. Changes nothing for plans that
// make no cycle. Looks at triggers only: the plan must have no waiters and
// orders. `levels` are those of the graph (graph/schedule.h). Cost: the swaps,
// if every trigger has a lower level than what it is for; else linear, and as
// IncrementalOrder. Returns how many swaps were dropped.
int DropCycles(const Graph& graph, const IdMap<NodeId, int32_t>& levels,
               SwapPlan& plan);

}  // namespace spillway

#endif  // SPILLWAY_LMS_DROP_CYCLES_H_
