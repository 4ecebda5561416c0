#include "lms/v1_orders.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/schedule.h"

namespace spillway {
namespace {

// `name` is `scope` or lies below it.
bool InScope(std::string_view name, std::string_view scope) {
  return name.starts_with(scope) &&
         (name.size() == scope.size() || name[scope.size()] == '/');
}

// Calls visit(NodeId) for each reader of the node's outputs, once a use.
template <typename Visit>
void ForEachReader(const Graph& graph, NodeId id, Visit visit) {
  for (const ValueId output : graph.node(id).outputs) {
    for (const Use& use : graph.uses(output)) visit(use.node);
  }
}

// Nodes that a walk along data edges meets, its start included.
IdMap<NodeId, bool> ForwardWalk(const Graph& graph,
                                std::vector<NodeId> frontier) {
  IdMap<NodeId, bool> met(graph.num_nodes(), false);
  for (const NodeId id : frontier) met[id] = true;
  while (!frontier.empty()) {
    const NodeId id = frontier.back();
    frontier.pop_back();
    ForEachReader(graph, id, [&](NodeId reader) {
      if (met[reader]) return;
      met[reader] = true;
      frontier.push_back(reader);
    });
  }
  return met;
}

IdMap<NodeId, bool> BackwardWalk(const Graph& graph,
                                 std::vector<NodeId> frontier) {
  IdMap<NodeId, bool> met(graph.num_nodes(), false);
  for (const NodeId id : frontier) met[id] = true;
  while (!frontier.empty()) {
    const NodeId id = frontier.back();
    frontier.pop_back();
    for (const ValueId input : graph.node(id).inputs) {
      const NodeId producer = graph.value(input).producer;
      if (met[producer]) continue;
      met[producer] = true;
      frontier.push_back(producer);
    }
  }
  return met;
}

std::vector<NodeId> Selected(const IdMap<NodeId, bool>& selected) {
  std::vector<NodeId> ids;
  for (size_t i = 0; i < selected.size(); ++i) {
    if (selected[NodeId(i)]) ids.emplace_back(i);
  }
  return ids;
}

absl::StatusOr<IdMap<NodeId, bool>> FindGradientNodes(
    const std::vector<std::string>& given, const Graph& graph) {
  const std::vector<std::string> scopes =
      given.empty() ? FindOptimizerScopes(graph) : given;
  IdMap<NodeId, bool> is_gradient(graph.num_nodes(), false);
  bool any = false;
  std::set<std::string> top_level;
  for (const Node& node : graph.nodes()) {
    top_level.insert(node.name.substr(0, node.name.find('/')));
    is_gradient[node.id] = std::ranges::any_of(
        scopes, [&](const auto& scope) { return InScope(node.name, scope); });
    any = any || is_gradient[node.id];
  }
  if (any) return is_gradient;
  constexpr size_t kListed = 20;
  std::vector<std::string> listed(top_level.begin(), top_level.end());
  if (listed.size() > kListed) {
    listed.resize(kListed);
    listed.emplace_back("...");
  }
  return InvalidArgument(fmt::format(
      "no node lies in an optimizer scope ({}); name it with "
      "--lms_optimizer_scopes; the top-level scopes are: {}",
      given.empty() ? "none contains a scope `gradients`"
                    : fmt::format("given: {}", fmt::join(given, ", ")),
      fmt::join(listed, ", ")));
}

// Non-gradient nodes, readers before producers.
std::vector<NodeId> ForwardNodesReversed(const IdMap<NodeId, bool>& is_gradient,
                                         const IdMap<NodeId, int32_t>& levels) {
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < is_gradient.size(); ++i) {
    if (!is_gradient[NodeId(i)]) nodes.emplace_back(i);
  }
  std::ranges::stable_sort(nodes, std::ranges::greater(),
                           [&](NodeId id) { return levels[id]; });
  return nodes;
}

// For each candidate, how many other candidates it reaches through forward
// nodes: 64 candidates a pass, one bit each.
std::vector<int64_t> Cover(const Graph& graph,
                           const std::vector<NodeId>& candidates,
                           const std::vector<NodeId>& readers_first) {
  constexpr size_t kBlock = 64;
  std::vector<int64_t> cover(candidates.size(), 0);
  IdMap<NodeId, uint64_t> own(graph.num_nodes(), 0);
  IdMap<NodeId, uint64_t> reached(graph.num_nodes(), 0);
  for (size_t begin = 0; begin < candidates.size(); begin += kBlock) {
    const size_t end = std::min(begin + kBlock, candidates.size());
    for (size_t i = begin; i < end; ++i) {
      own[candidates[i]] = uint64_t{1} << (i - begin);
    }
    for (const NodeId id : readers_first) {
      uint64_t bits = 0;
      ForEachReader(graph, id, [&](NodeId reader) {
        bits |= own[reader] | reached[reader];  // 0 for gradient nodes
      });
      reached[id] = bits;
    }
    for (size_t i = 0; i < candidates.size(); ++i) {
      cover[i] += std::popcount(reached[candidates[i]]);
    }
    for (size_t i = begin; i < end; ++i) own[candidates[i]] = 0;
  }
  return cover;
}

std::vector<NodeId> FindSeeds(const Graph& graph,
                              const IdMap<NodeId, bool>& is_gradient,
                              const IdMap<NodeId, int32_t>& levels) {
  std::vector<NodeId> candidates;
  for (const Node& node : graph.nodes()) {
    bool read_by_gradient = false;
    ForEachReader(graph, node.id, [&](NodeId reader) {
      read_by_gradient = read_by_gradient || is_gradient[reader];
    });
    if (!is_gradient[node.id] && read_by_gradient) {
      candidates.push_back(node.id);
    }
  }
  const std::vector<int64_t> cover =
      Cover(graph, candidates, ForwardNodesReversed(is_gradient, levels));
  const int64_t most = cover.empty() ? 0 : *std::ranges::max_element(cover);
  std::vector<NodeId> seeds;
  for (size_t i = 0; most > 0 && i < candidates.size(); ++i) {
    if (cover[i] == most) seeds.push_back(candidates[i]);
  }
  return seeds;
}

// Layers of the nodes that the seeds reach, counting only dependencies on nodes
// between a seed and a gradient node.
std::vector<std::vector<NodeId>> FindLayers(
    const Graph& graph, const V1Orders& orders,
    const IdMap<NodeId, int32_t>& levels) {
  const IdMap<NodeId, bool> known = ForwardWalk(graph, orders.seeds);
  const IdMap<NodeId, bool> above_gradient =
      BackwardWalk(graph, Selected(orders.is_gradient));
  std::vector<NodeId> nodes = Selected(known);
  std::ranges::stable_sort(nodes, {}, [&](NodeId id) { return levels[id]; });
  IdMap<NodeId, int32_t> layer(graph.num_nodes(), -1);
  std::vector<std::vector<NodeId>> layers;
  for (const NodeId id : nodes) {
    int32_t place = 0;
    const auto depend_on = [&](NodeId before) {
      if (known[before] && above_gradient[before]) {
        place = std::max(place, layer[before] + 1);
      }
    };
    const Node& node = graph.node(id);
    for (const ValueId in : node.inputs) depend_on(graph.value(in).producer);
    for (const NodeId control : node.control_inputs) depend_on(control);
    layer[id] = place;
    if (static_cast<size_t>(place) >= layers.size()) {
      layers.resize(static_cast<size_t>(place) + 1);
    }
    layers[static_cast<size_t>(place)].push_back(id);
  }
  return layers;
}

// Drops gradient nodes that share a layer with forward nodes (when they run is
// not known) and forward nodes behind gradient nodes (the update phase).
void CleanLayers(const Graph& graph, const IdMap<NodeId, bool>& is_gradient,
                 std::vector<std::vector<NodeId>>& layers) {
  const auto gradient = [&](NodeId id) { return is_gradient[id]; };
  for (std::vector<NodeId>& layer : layers) {
    if (!std::ranges::all_of(layer, gradient)) std::erase_if(layer, gradient);
  }
  const IdMap<NodeId, bool> behind = ForwardWalk(graph, Selected(is_gradient));
  for (std::vector<NodeId>& layer : layers) {
    std::erase_if(layer,
                  [&](NodeId id) { return !is_gradient[id] && behind[id]; });
    std::ranges::sort(layer);
  }
  std::erase_if(layers, [](const auto& layer) { return layer.empty(); });
}

}  // namespace

std::vector<std::string> FindOptimizerScopes(const Graph& graph) {
  constexpr std::string_view kGradients = "gradients";
  std::set<std::string> scopes;
  for (const Node& node : graph.nodes()) {
    size_t at = 0;
    while (at < node.name.size()) {
      const size_t slash = node.name.find('/', at);
      if (slash == std::string::npos) break;
      if (std::string_view(node.name).substr(at, slash - at) == kGradients) {
        scopes.insert(at == 0 ? std::string(kGradients)
                              : node.name.substr(0, at - 1));
        break;
      }
      at = slash + 1;
    }
  }
  return {scopes.begin(), scopes.end()};
}

absl::StatusOr<V1Orders> FindV1Orders(const LmsOptions& options,
                                      const Graph& graph) {
  V1Orders orders;
  ASSIGN_OR_RETURN(orders.is_gradient,
                   FindGradientNodes(options.optimizer_scopes, graph));
  ASSIGN_OR_RETURN(const auto levels, Levels(graph));
  orders.seeds = FindSeeds(graph, orders.is_gradient, levels);
  orders.nodes_of_order = FindLayers(graph, orders, levels);
  CleanLayers(graph, orders.is_gradient, orders.nodes_of_order);
  orders.order = IdMap<NodeId, int32_t>(graph.num_nodes(), -1);
  orders.backward_start = static_cast<int32_t>(orders.nodes_of_order.size());
  for (size_t i = 0; i < orders.nodes_of_order.size(); ++i) {
    for (const NodeId id : orders.nodes_of_order[i]) {
      orders.order[id] = static_cast<int32_t>(i);
      if (orders.is_gradient[id]) {
        orders.backward_start =
            std::min(orders.backward_start, static_cast<int32_t>(i));
      }
    }
  }
  return orders;
}

}  // namespace spillway
