// What every edit must leave as it is.
#ifndef SPILLWAY_LMS_CHECK_KEPT_H_
#define SPILLWAY_LMS_CHECK_KEPT_H_

#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"

namespace spillway {

// Whether the nodes have the same name, op, attributes, cost and outputs.
bool SameButForPlacement(const Node& before, const Node& after);

// INTERNAL unless the outputs of node `id` have the same types in both graphs.
absl::Status CheckTypesKept(const Graph& original, const Graph& edited,
                            NodeId id);

// INTERNAL unless node `id` of the original has the same name, op, attributes,
// placement, cost, outputs and types in the edited graph.
absl::Status CheckKept(const Graph& original, const Graph& edited, NodeId id);

// Whether `actual` names each node of `expected` once, in any order, and no
// other. `expected` may repeat nodes.
bool SameNodes(std::vector<NodeId> actual, std::vector<NodeId> expected);

}  // namespace spillway

#endif  // SPILLWAY_LMS_CHECK_KEPT_H_
