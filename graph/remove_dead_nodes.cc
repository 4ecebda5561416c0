#include "graph/remove_dead_nodes.h"

#include <vector>

#include "graph/schedule.h"

namespace spillway {
namespace {

std::vector<TensorType> OutputTypes(const Graph& graph, const Node& node) {
  std::vector<TensorType> types;
  for (const ValueId output : node.outputs) types.push_back(graph.type(output));
  return types;
}

}  // namespace

Graph RemoveDeadNodes(const Graph& graph, const OpRegistry& registry,
                      std::span<const ValueId> keep) {
  const IdMap<NodeId, bool> is_alive = NodesToRun(graph, registry, keep);
  Graph result(graph.name());
  IdMap<NodeId, NodeId> copy_of(graph.num_nodes());
  for (const Node& node : graph.nodes()) {
    if (!is_alive[node.id]) continue;
    copy_of[node.id] = result.AddNode({.name = node.name,
                                       .op = node.op,
                                       .outputs = OutputTypes(graph, node),
                                       .attributes = node.attributes,
                                       .placement = node.placement,
                                       .cost = node.cost});
  }
  // Edges last: an edited graph has nodes that read later ones.
  for (const Node& node : graph.nodes()) {
    if (!is_alive[node.id]) continue;
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      const Value& value = graph.value(input);
      inputs.push_back(result.output(copy_of[value.producer], value.index));
    }
    result.SetInputs(copy_of[node.id], inputs);
    for (const NodeId before : node.control_inputs) {
      result.AddControlEdge(copy_of[before], copy_of[node.id]);
    }
  }
  return result;
}

}  // namespace spillway
