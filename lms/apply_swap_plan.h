// Puts a SwapPlan into the graph.
#ifndef SPILLWAY_LMS_APPLY_SWAP_PLAN_H_
#define SPILLWAY_LMS_APPLY_SWAP_PLAN_H_

#include "absl/status/status.h"
#include "graph/graph.h"
#include "lms/swap_plan.h"

namespace spillway {

// INVALID_ARGUMENT unless all nodes and values of the plan are the graph's.
absl::Status CheckIds(const SwapPlan& plan, const Graph& graph);

// Requires CheckIds. Adds lms/swapout_<tensor> and lms/swapin_<tensor> nodes
// and the triggers' control edges, then lms/alias_<node> nodes, and lets the
// readers read the swap-ins and aliases. Removes nothing; ids stay. New ids:
// swap by swap its swap-out and swap-ins; after all of them, in the same order,
// the aliases.
void ApplySwapPlan(const SwapPlan& plan, Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_APPLY_SWAP_PLAN_H_
