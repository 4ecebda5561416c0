#include "tools/spillway/graph_facts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "graph/schedule.h"
#include "graph/well_known_ops.h"
#include "lms/v1_orders.h"
#include "models/zoo.h"

namespace spillway {
namespace {

bool IsInScope(const Node& node, const std::vector<std::string>& scopes) {
  return std::ranges::any_of(scopes, [&node](const std::string& scope) {
    return node.name == scope || node.name.starts_with(scope + "/");
  });
}

bool IsTrainable(const Node& node) {
  const auto trainable = node.attributes.GetBool("trainable", true);
  return node.op == kVariable && trainable.ok() && *trainable;
}

std::vector<TensorType> TypesOf(const Graph& graph,
                                const std::vector<ValueId>& values) {
  std::vector<TensorType> types;
  types.reserve(values.size());
  for (const ValueId value : values) types.push_back(graph.type(value));
  return types;
}

// As the graph states it, else as the op computes it.
double Flops(const Graph& graph, const Node& node, const OpDef* def) {
  if (node.cost) return node.cost->flops;
  if (def == nullptr || def->cost == nullptr) return 0;
  const std::vector<TensorType> inputs = TypesOf(graph, node.inputs);
  const std::vector<TensorType> outputs = TypesOf(graph, node.outputs);
  return def
      ->cost(
          {.attributes = node.attributes, .inputs = inputs, .outputs = outputs})
      .flops;
}

int64_t ComputedBytes(const Graph& graph, const Node& node, const OpDef* def) {
  if (node.op == kPlaceholder) return 0;
  if (node.op == kSwapOut || node.op == kSwapIn) return 0;
  if (def != nullptr && def->resident) return 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const bool is_alias =
        def != nullptr &&
        std::ranges::any_of(def->alias, [i](const BufferPair& pair) {
          return pair.output == static_cast<int>(i);
        });
    if (!is_alias) bytes += graph.type(node.outputs[i]).num_bytes();
  }
  return bytes;
}

}  // namespace

absl::StatusOr<GraphFacts> FindFacts(const Graph& graph,
                                     const OpRegistry& ops) {
  ASSIGN_OR_RETURN(const auto levels, Levels(graph));
  const std::vector<std::string> backward = FindOptimizerScopes(graph);
  GraphFacts facts;
  facts.nodes = static_cast<int64_t>(graph.num_nodes());
  facts.parameters = CountParameters(graph);
  for (const Node& node : graph.nodes()) {
    const OpDef* def = ops.Find(node.op);
    facts.levels = std::max<int64_t>(facts.levels, levels[node.id] + 1);
    facts.edges += static_cast<int64_t>(node.inputs.size());
    facts.control_edges += static_cast<int64_t>(node.control_inputs.size());
    if (IsTrainable(node)) {
      facts.parameter_bytes += graph.type(node.outputs[0]).num_bytes();
    }
    if (IsInScope(node, backward)) continue;
    facts.forward_flops += Flops(graph, node, def);
    facts.activation_bytes += ComputedBytes(graph, node, def);
  }
  facts.edges += facts.control_edges;
  return facts;
}

}  // namespace spillway
