// The neighbours of a node over data and control edges, and of a value.
#ifndef SPILLWAY_GRAPH_TRAVERSE_H_
#define SPILLWAY_GRAPH_TRAVERSE_H_

#include "graph/graph.h"

namespace spillway {

// Calls visit(NodeId) for the producer of each input, by slot, then for each
// control input. A node is visited once for each edge.
template <typename Visit>
void ForEachPredecessor(const Graph& graph, NodeId id, Visit visit) {
  const Node& node = graph.node(id);
  for (const ValueId input : node.inputs) visit(graph.value(input).producer);
  for (const NodeId before : node.control_inputs) visit(before);
}

// Calls visit(NodeId) for each use of each output, then for each control
// output. A node is visited once for each edge.
template <typename Visit>
void ForEachSuccessor(const Graph& graph, NodeId id, Visit visit) {
  for (const ValueId output : graph.node(id).outputs) {
    for (const Use& use : graph.uses(output)) visit(use.node);
  }
  for (const NodeId after : graph.control_outputs(id)) visit(after);
}

// Calls visit(NodeId) for each node that reads `value`, once, by id.
template <typename Visit>
void ForEachReader(const Graph& graph, ValueId value, Visit visit) {
  NodeId last;
  for (const Use& use : graph.uses(value)) {
    if (use.node != last) visit(use.node);
    last = use.node;
  }
}

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_TRAVERSE_H_
