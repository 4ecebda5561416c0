// Which pairs of nodes a path over data and control edges connects.
#ifndef SPILLWAY_GRAPH_ORDER_PATHS_H_
#define SPILLWAY_GRAPH_ORDER_PATHS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace spillway {

// A path from `before` to `after` must exist.
struct RequiredPath {
  NodeId before = {};
  NodeId after = {};
};

// The indices of the required paths that do not exist, by the place in `order`
// of the node at which they must end, then by index. `order` holds all nodes;
// edges go forward in it. Cost: one backward sweep over the edges for each 64
// nodes at which a path must end.
std::vector<size_t> FindMissingPaths(const Graph& graph,
                                     std::span<const NodeId> order,
                                     std::span<const RequiredPath> paths);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_ORDER_PATHS_H_
