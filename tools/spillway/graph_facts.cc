#include "tools/spillway/graph_facts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "graph/input_groups.h"
#include "graph/node_cost.h"
#include "graph/schedule.h"
#include "graph/well_known_ops.h"
#include "lms/scopes.h"
#include "lms/v1/orders.h"
#include "models/zoo.h"

namespace spillway {
namespace {

IdMap<NodeId, bool> FindBackward(const Graph& graph) {
  const std::vector<std::string> scopes = FindOptimizerScopes(graph);
  IdMap<NodeId, bool> is_backward(graph.num_nodes());
  for (const Node& node : graph.nodes()) {
    is_backward[node.id] = std::ranges::any_of(
        scopes,
        [&](const std::string& scope) { return InScope(node.name, scope); });
  }
  return is_backward;
}

bool IsTrainable(const Node& node) {
  const auto trainable = node.attributes.GetBool("trainable", true);
  return node.op == kVariable && trainable.ok() && *trainable;
}

bool IsAlias(const OpDef* def, size_t output) {
  return def != nullptr && AliasedInput(*def, static_cast<int>(output)) >= 0;
}

int64_t ComputedBytes(const Graph& graph, const Node& node, const OpDef* def) {
  if (node.op == kPlaceholder) return 0;
  if (node.op == kSwapOut || node.op == kSwapIn) return 0;
  if (def != nullptr && def->resident) return 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!IsAlias(def, i)) bytes += graph.type(node.outputs[i]).num_bytes();
  }
  return bytes;
}

// Whether one of `readers` reads these bytes, under this name or another.
bool IsReadBy(const IdMap<NodeId, bool>& readers, const Graph& graph,
              const OpRegistry& ops, ValueId value) {
  return std::ranges::any_of(graph.uses(value), [&](const Use& use) {
    if (readers[use.node]) return true;
    const Node& reader = graph.node(use.node);
    const OpDef* def = ops.Find(reader.op);
    for (size_t i = 0; i < reader.outputs.size(); ++i) {
      const bool is_renamed =
          IsAlias(def, i) && IsReadBy(readers, graph, ops, reader.outputs[i]);
      if (is_renamed) return true;
    }
    return false;
  });
}

// Of a node of the forward phase: bytes of its outputs that the backward phase
// reads.
int64_t SavedBytes(const IdMap<NodeId, bool>& is_backward, const Graph& graph,
                   const OpRegistry& ops, const Node& node) {
  const OpDef* def = ops.Find(node.op);
  if (def != nullptr && def->resident) return 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId value = node.outputs[i];
    const bool is_saved =
        !IsAlias(def, i) && IsReadBy(is_backward, graph, ops, value);
    if (is_saved) bytes += graph.type(value).num_bytes();
  }
  return bytes;
}

}  // namespace

absl::StatusOr<GraphFacts> FindFacts(const Graph& graph,
                                     const OpRegistry& ops) {
  SPILLWAY_ASSIGN_OR_RETURN(const auto levels, Levels(graph));
  const IdMap<NodeId, bool> is_backward = FindBackward(graph);
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
    if (is_backward[node.id]) continue;
    facts.forward_flops += NodeCost(graph, ops, node.id).flops;
    facts.activation_bytes += ComputedBytes(graph, node, def);
    facts.saved_bytes += SavedBytes(is_backward, graph, ops, node);
  }
  facts.edges += facts.control_edges;
  return facts;
}

}  // namespace spillway
