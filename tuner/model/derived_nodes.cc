#include "tuner/model/derived_nodes.h"

#include <optional>
#include <utility>

#include "graph/well_known_ops.h"
#include "lms/added_nodes.h"
#include "lms/recompute/clonable.h"

namespace spillway {

DerivedNodes AddDerivedNodes(const Graph& graph, const OpRegistry& ops) {
  DerivedNodes result = {.graph = graph};
  result.node_of.resize(graph.num_values());
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const std::optional<DerivedNode> derived =
          DeriveOutput(graph, node, static_cast<int>(i), ops);
      if (!derived) continue;
      NodeSpec spec = {.name = AddedName(kClonePrefix, node.name, result.graph),
                       .op = derived->op,
                       .inputs = InputsOfDerived(graph, node, *derived, ops),
                       .outputs = {graph.type(node.outputs[i])},
                       .attributes = derived->attributes};
      result.node_of[node.outputs[i]] = result.graph.AddNode(std::move(spec));
    }
  }
  return result;
}

}  // namespace spillway
