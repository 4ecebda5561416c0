// Takes swaps out of a plan whose triggers would close a cycle.
#ifndef SPILLWAY_LMS_DROP_CYCLES_H_
#define SPILLWAY_LMS_DROP_CYCLES_H_

#include "graph/graph.h"
#include "lms/swap_plan.h"

namespace spillway {

// After this the plan's edit of the acyclic `graph` is acyclic. On each cycle
// that is found, one swap whose trigger lies on it is dropped as a whole, and
// the plan says so. Changes nothing for plans that make no cycle. Looks at
// triggers only: the plan must have no waiters and orders. Cost: linear, and
// for each dropped swap what has to be walked to find the cycle.
// Returns how many swaps were dropped.
int DropCycles(const Graph& graph, SwapPlan& plan);

}  // namespace spillway

#endif  // SPILLWAY_LMS_DROP_CYCLES_H_
