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
      std::optional<DerivedNode> derived =
          DeriveOutput(graph, node, static_cast<int>(i), ops);
      if (!derived) continue;
      NodeSpec spec = {.name = AddedName(kClonePrefix, node.name, result.graph),
                       .op = std::move(derived->op),
                       .outputs = {graph.type(node.outputs[i])},
                       .attributes = std::move(derived->attributes)};
      for (const DerivedInput& input : derived->inputs) {
        const auto index = static_cast<size_t>(input.index);
        spec.inputs.push_back(input.is_output ? node.outputs[index]
                                              : node.inputs[index]);
      }
      result.node_of[node.outputs[i]] = result.graph.AddNode(std::move(spec));
    }
  }
  return result;
}

}  // namespace spillway
