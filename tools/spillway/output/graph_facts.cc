#include "tools/spillway/output/graph_facts.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "graph/node_cost.h"
#include "graph/order/schedule.h"
#include "graph/storage.h"
#include "graph/well_known_ops.h"
#include "lms/backward_phase.h"
#include "lms/scopes.h"
#include "lms/v2/roles.h"
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

bool IsComputed(const Node& node) {
  return node.op != kPlaceholder && !CopiesToHost(node.op) &&
         !CopiesToDevice(node.op);
}

// Whether one of `readers` reads these bytes, through any alias.
bool IsReadBy(const IdMap<NodeId, bool>& readers, const Graph& graph,
              const Storage& storage) {
  return std::ranges::any_of(storage.values, [&](ValueId value) {
    return std::ranges::any_of(
        graph.uses(value), [&](const Use& use) { return readers[use.node]; });
  });
}

// Adds the bytes of the storages that the forward phase writes.
void AddStorages(const IdMap<NodeId, bool>& is_backward, const Graph& graph,
                 const OpRegistry& ops, GraphFacts& facts) {
  const StorageMap storages = StorageMap::Of(graph, ops);
  for (const Storage& storage : storages.storages()) {
    const Node& producer = graph.producer(storage.root);
    if (storage.is_resident || is_backward[producer.id]) continue;
    const int64_t bytes = graph.type(storage.root).num_bytes();
    if (IsComputed(producer)) facts.activation_bytes += bytes;
    if (IsReadBy(is_backward, graph, storage)) facts.saved_bytes += bytes;
  }
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
    facts.levels = std::max<int64_t>(facts.levels, levels[node.id] + 1);
    facts.edges += static_cast<int64_t>(node.inputs.size());
    facts.control_edges += static_cast<int64_t>(node.control_inputs.size());
    if (IsTrainable(node)) {
      facts.parameter_bytes += graph.type(node.outputs[0]).num_bytes();
    }
    if (is_backward[node.id]) continue;
    facts.forward_flops += NodeCost(graph, ops, node.id).flops;
  }
  facts.edges += facts.control_edges;
  AddStorages(is_backward, graph, ops, facts);
  return facts;
}

}  // namespace spillway
