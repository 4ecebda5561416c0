// The two phases of a training graph as TFLMS version 1 sees them: gradient
// nodes by scope, seeds, and topological orders.
#ifndef SPILLWAY_LMS_V1_ORDERS_H_
#define SPILLWAY_LMS_V1_ORDERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "lms/options.h"

namespace spillway {

struct V1Orders {
  IdMap<NodeId, bool> is_gradient;
  std::vector<NodeId> seeds;  // where the forward phase begins, by id
  // Place in the layered topological order; -1: not known (a gradient node that
  // could run during the forward phase, the update phase, other nodes).
  IdMap<NodeId, int32_t> order;
  std::vector<std::vector<NodeId>> nodes_of_order;
  int32_t backward_start = 0;  // first order that holds a gradient node
};

// Errors: INVALID_ARGUMENT when no node lies in an optimizer scope (listing the
// top-level scopes there are) or the graph has a cycle.
absl::StatusOr<V1Orders> FindV1Orders(const LmsOptions& options,
                                      const Graph& graph);

// Scopes that contain a `gradients` scope: "momentum_optimizer".
std::vector<std::string> FindOptimizerScopes(const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V1_ORDERS_H_
