// Removes swaps from a plan if their triggers would close a cycle.
#ifndef SPILLWAY_LMS_DROP_CYCLES_H_
#define SPILLWAY_LMS_DROP_CYCLES_H_

#include <cstdint>

#include "graph/graph.h"
#include "lms/swap_plan.h"

namespace spillway {

// Makes the plan's edit of the acyclic `graph` acyclic. Drops each swap with a
// trigger that would close a cycle with the triggers of earlier swaps, and adds
// it to plan.dropped. Does not change a plan without cycles. Requires a plan
// without waiters and orders. `levels` are the graph's
// (graph/order/schedule.h). Cost: O(swaps) if every trigger has a lower level
// than the readers of its swap-in; otherwise linear in the graph, plus
// IncrementalOrder. Returns the number of dropped swaps.
int DropCycles(const Graph& graph, const IdMap<NodeId, int32_t>& levels,
               SwapPlan& plan);

}  // namespace spillway

#endif  // SPILLWAY_LMS_DROP_CYCLES_H_
