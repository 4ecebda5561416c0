// TFLMS version 1: which tensors to swap, and what triggers each swap-in.
//
// Visits the forward graph breadth first from the seeds. A tensor that gradient
// nodes read is swapped out; each such reader gets a swap-in, started by a node
// found by the chain rule or in direct order.
// Rulings where options.compat is off: equal triggers go to the latest order,
// then the lowest id; a reader without a trigger, or whose trigger leaves no
// gap, keeps reading the device copy, and so do readers that run before it.
// Source: Le et al., "TFLMS: Large model support in TensorFlow by graph
// rewriting" (2018), sections 3 and 4; IBM's public implementation.
#ifndef SPILLWAY_LMS_PLAN_SWAPS_V1_H_
#define SPILLWAY_LMS_PLAN_SWAPS_V1_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "lms/options.h"
#include "lms/swap_plan.h"

namespace spillway {

// Reads `graph` only. Errors: as FindV1Orders.
absl::StatusOr<SwapPlan> PlanSwapsV1(const LmsOptions& options,
                                     const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_PLAN_SWAPS_V1_H_
