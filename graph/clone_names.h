// Clones, which compute the values of other nodes a second time
// (lms/recompute/recompute_plan.h), are named after these nodes.
#ifndef SPILLWAY_GRAPH_CLONE_NAMES_H_
#define SPILLWAY_GRAPH_CLONE_NAMES_H_

#include <string>

#include "base/ids.h"
#include "graph/graph.h"

namespace spillway {

// A name without scopes or outputs: "conv1/Relu:0" gives "conv1_Relu_0".
std::string FlatName(std::string name);

// By node: the node whose values a clone computes; invalid for other nodes, and
// where no node fits the clone's name. Where the flat names of several nodes
// are equal (a/b and a_b): the first of the clone's op, or else the first.
// Empty for a graph without clones. Cost: O(nodes log nodes).
IdMap<NodeId, NodeId> OriginalsByName(const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_CLONE_NAMES_H_
