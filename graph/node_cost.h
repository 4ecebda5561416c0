// The work of one node.
#ifndef SPILLWAY_GRAPH_NODE_COST_H_
#define SPILLWAY_GRAPH_NODE_COST_H_

#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// The cost that the node states, else the cost that its op states, else no
// flops and every input read and every output written once.
OpCost NodeCost(const Graph& graph, const OpRegistry& registry, NodeId id);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_NODE_COST_H_
