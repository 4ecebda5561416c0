// Adds the swaps of a SwapPlan to the graph.
#ifndef SPILLWAY_LMS_APPLY_SWAP_PLAN_H_
#define SPILLWAY_LMS_APPLY_SWAP_PLAN_H_

#include "absl/status/status.h"
#include "graph/graph.h"
#include "lms/swap_plan.h"

namespace spillway {

// INVALID_ARGUMENT unless the graph has all nodes and values of the plan.
absl::Status CheckIds(const SwapPlan& plan, const Graph& graph);

// Requires CheckIds. Adds lms/swapout_<tensor> and lms/swapin_<tensor> nodes
// and the triggers' control edges, then lms/alias_<node> nodes, and reroutes
// the readers to the swap-ins and aliases. Removes nothing; existing ids do not
// change. New ids: for each swap in order, its swap-out and its swap-ins; then,
// in the same order, all aliases.
void ApplySwapPlan(const SwapPlan& plan, Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_APPLY_SWAP_PLAN_H_
