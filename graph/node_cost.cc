#include "graph/node_cost.h"

#include <vector>

#include "graph/types_of.h"

namespace spillway {

OpCost NodeCost(const Graph& graph, const OpRegistry& registry, NodeId id) {
  const Node& node = graph.node(id);
  if (node.cost) {
    return {.flops = node.cost->flops,
            .bytes = static_cast<int64_t>(node.cost->bytes)};
  }
  const std::vector<TensorType> inputs = TypesOf(graph, node.inputs);
  const std::vector<TensorType> outputs = TypesOf(graph, node.outputs);
  const OpDef* def = registry.Find(node.op);
  if (def != nullptr && def->cost != nullptr) {
    return def->cost(
        {.attributes = node.attributes, .inputs = inputs, .outputs = outputs});
  }
  OpCost cost;
  for (const TensorType& type : inputs) cost.bytes += type.num_bytes();
  for (const TensorType& type : outputs) cost.bytes += type.num_bytes();
  return cost;
}

}  // namespace spillway
