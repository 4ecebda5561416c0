#include "lms/v1/orders.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/order/schedule.h"
#include "graph/traverse.h"
#include "lms/backward_phase.h"
#include "lms/scopes.h"
#include "lms/v1/seeds.h"

namespace spillway {
namespace {

// The nodes of `start` and all nodes reachable from them. next_of(id, visit)
// calls visit(NodeId) for each node that is one step from `id`.
template <typename NextOf>
IdMap<NodeId, bool> Walk(size_t num_nodes, std::vector<NodeId> start,
                         NextOf next_of) {
  IdMap<NodeId, bool> met(num_nodes, false);
  for (const NodeId id : start) met[id] = true;
  std::vector<NodeId> frontier = std::move(start);
  while (!frontier.empty()) {
    const NodeId id = frontier.back();
    frontier.pop_back();
    next_of(id, [&](NodeId next) {
      if (met[next]) return;
      met[next] = true;
      frontier.push_back(next);
    });
  }
  return met;
}

// Both functions walk along data edges.
IdMap<NodeId, bool> ForwardWalk(const Graph& graph, std::vector<NodeId> start) {
  return Walk(graph.num_nodes(), std::move(start), [&](NodeId id, auto visit) {
    for (const ValueId output : graph.node(id).outputs) {
      ForEachReader(graph, output, visit);
    }
  });
}

IdMap<NodeId, bool> BackwardWalk(const Graph& graph,
                                 std::vector<NodeId> start) {
  return Walk(graph.num_nodes(), std::move(start), [&](NodeId id, auto visit) {
    for (const ValueId input : graph.node(id).inputs) {
      visit(graph.value(input).producer);
    }
  });
}

std::vector<NodeId> Selected(const IdMap<NodeId, bool>& selected) {
  std::vector<NodeId> ids;
  for (const NodeId id : selected.ids()) {
    if (selected[id]) ids.push_back(id);
  }
  return ids;
}

// The nodes that the options name as seeds.
absl::StatusOr<std::vector<NodeId>> GivenSeeds(const LmsOptions& options,
                                               const Graph& graph) {
  std::set<NodeId> seeds;
  const std::string& scope = options.v1.starting_scope;
  if (!scope.empty()) {
    for (const Node& node : graph.nodes()) {
      if (MatchesScope(options.compat, node.name, scope)) seeds.insert(node.id);
    }
    if (seeds.empty()) {
      return EmptyScopeError("lms_starting_scope", scope, graph);
    }
  }
  for (const std::string& name : options.v1.starting_op_names) {
    const std::optional<NodeId> id = graph.FindNode(name);
    if (!id) {
      return InvalidArgument(
          fmt::format("lms_starting_op_names: no node has the name {}; the "
                      "top-level scopes are: {}",
                      name, TopLevelScopes(graph)));
    }
    seeds.insert(*id);
  }
  return std::vector<NodeId>(seeds.begin(), seeds.end());
}

void PutInLayer(NodeId id, int32_t place, V1Orders& orders) {
  std::vector<std::vector<NodeId>>& layers = orders.nodes_of_order;
  orders.layer[id] = place;
  if (static_cast<size_t>(place) >= layers.size()) {
    layers.resize(static_cast<size_t>(place) + 1);
  }
  layers[static_cast<size_t>(place)].push_back(id);
}

// One more than the highest layer of the nodes that `node` waits for.
int32_t PlaceOf(const Node& node, const Graph& graph, V1Orders& orders) {
  int32_t place = 0;
  for (const ValueId input : node.inputs) {
    const NodeId before = graph.value(input).producer;
    if (orders.is_reached[before] && orders.above_gradient[before]) {
      place = std::max(place, orders.layer[before] + 1);
    }
  }
  for (const NodeId before : node.control_inputs) {
    const bool counts =
        orders.is_reached[before] && orders.above_gradient[before];
    if (!counts && !node.inputs.empty()) continue;
    if (orders.layer[before] < 0) {
      PutInLayer(before, 0, orders);
      orders.has_unreached = true;
    }
    place = std::max(place, orders.layer[before] + 1);
  }
  return place;
}

// Finds the layers of the nodes that the seeds reach.
void FindLayers(const Graph& graph, const IdMap<NodeId, int32_t>& levels,
                V1Orders& orders) {
  orders.layer = IdMap<NodeId, int32_t>(graph.num_nodes(), -1);
  for (const NodeId id : OrderByLevel(levels)) {
    if (!orders.is_reached[id]) continue;
    PutInLayer(id, PlaceOf(graph.node(id), graph, orders), orders);
  }
}

// Drops gradient nodes that share a layer with forward nodes (it is unknown
// when they run) and forward nodes that depend on gradient nodes (the update
// phase).
void CleanLayers(const Graph& graph, const IdMap<NodeId, bool>& is_gradient,
                 std::vector<std::vector<NodeId>>& layers) {
  const auto gradient = [&](NodeId id) { return is_gradient[id]; };
  const IdMap<NodeId, bool> behind = ForwardWalk(graph, Selected(is_gradient));
  for (std::vector<NodeId>& layer : layers) {
    if (!std::ranges::all_of(layer, gradient)) std::erase_if(layer, gradient);
    std::erase_if(layer,
                  [&](NodeId id) { return !is_gradient[id] && behind[id]; });
    std::ranges::sort(layer);
  }
  std::erase_if(layers, [](const auto& layer) { return layer.empty(); });
}

void NumberOrders(V1Orders& orders) {
  orders.order = IdMap<NodeId, int32_t>(orders.is_gradient.size(), -1);
  for (size_t i = 0; i < orders.nodes_of_order.size(); ++i) {
    for (const NodeId id : orders.nodes_of_order[i]) {
      orders.order[id] = static_cast<int32_t>(i);
      if (orders.is_gradient[id] && orders.backward_start < 0) {
        orders.backward_start = static_cast<int32_t>(i);
      }
    }
  }
}

}  // namespace

absl::StatusOr<V1Orders> FindV1Orders(const LmsOptions& options,
                                      const StorageMap& storages,
                                      const Graph& graph) {
  V1Orders orders;
  SPILLWAY_ASSIGN_OR_RETURN(orders.is_gradient,
                            FindBackwardNodes(options, graph));
  SPILLWAY_ASSIGN_OR_RETURN(const auto levels, Levels(graph));
  SPILLWAY_ASSIGN_OR_RETURN(orders.seeds, GivenSeeds(options, graph));
  if (orders.seeds.empty()) {
    orders.seeds = FindSeeds({.graph = graph,
                              .storages = storages,
                              .is_gradient = orders.is_gradient,
                              .levels = levels});
  }
  orders.is_reached = ForwardWalk(graph, orders.seeds);
  orders.above_gradient = BackwardWalk(graph, Selected(orders.is_gradient));
  FindLayers(graph, levels, orders);
  CleanLayers(graph, orders.is_gradient, orders.nodes_of_order);
  NumberOrders(orders);
  return orders;
}

}  // namespace spillway
