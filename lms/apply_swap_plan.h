// Puts a SwapPlan into the graph.
#ifndef SPILLWAY_LMS_APPLY_SWAP_PLAN_H_
#define SPILLWAY_LMS_APPLY_SWAP_PLAN_H_

#include "absl/status/status.h"
#include "graph/graph.h"
#include "lms/swap_plan.h"

namespace spillway {

// Adds lms/swapout_<tensor> and lms/swapin_<tensor> nodes and the triggers'
// control edges, and lets the readers read the swap-ins. Removes nothing; ids
// stay.
void ApplySwapPlan(const SwapPlan& plan, Graph& graph);

// The steps of it, for planners that look at the graph as it grows: the host
// copy of `value`, and one way back for the readers of `swap_in`.
NodeId AddSwapOut(ValueId value, Graph& graph);
void AddSwapIn(ValueId value, NodeId swap_out, const SwapIn& swap_in,
               Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_APPLY_SWAP_PLAN_H_
