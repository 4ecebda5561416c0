// Which pairs of nodes a path over data and control edges connects.
#ifndef SPILLWAY_GRAPH_ORDER_PATHS_H_
#define SPILLWAY_GRAPH_ORDER_PATHS_H_

#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace spillway {

// A path from `before` to `after` must exist.
struct RequiredPath {
  NodeId before = {};
  NodeId after = {};
};

// The index of a required path that does not exist; nullopt if all exist.
// Deterministic. `order` holds all nodes; edges go forward in it. Cost: one
// backward sweep over the edges for each 64 nodes at which a path must end.
std::optional<size_t> FindMissingPath(const Graph& graph,
                                      std::span<const NodeId> order,
                                      std::span<const RequiredPath> paths);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_ORDER_PATHS_H_
