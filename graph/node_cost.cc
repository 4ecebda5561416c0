#include "graph/node_cost.h"

#include <vector>

#include "graph/parts.h"
#include "graph/types_of.h"

namespace spillway {

OpCost NodeCost(const Graph& graph, const OpRegistry& registry, NodeId id) {
  const Node& node = graph.node(id);
  if (node.cost) {
    return {.flops = node.cost->flops,
            .bytes = static_cast<int64_t>(node.cost->bytes)};
  }
  const OpDef* def = registry.Find(node.op);
  const std::vector<TensorType> inputs = InputTypesOf(graph, node, def);
  const std::vector<TensorType> outputs = TypesOf(graph, node.outputs);
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
