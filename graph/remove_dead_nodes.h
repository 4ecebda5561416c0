// Dead-node removal.
#ifndef SPILLWAY_GRAPH_REMOVE_DEAD_NODES_H_
#define SPILLWAY_GRAPH_REMOVE_DEAD_NODES_H_

#include <span>

#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// A copy of `graph` without the nodes that neither `keep` nor any node that
// overwrites a variable depends on (over data and control edges; see
// NodesToRun). Names, order and placements stay; ids are dense again.
Graph RemoveDeadNodes(const Graph& graph, const OpRegistry& registry,
                      std::span<const ValueId> keep);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_REMOVE_DEAD_NODES_H_
