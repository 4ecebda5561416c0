#include "graph/order/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/status_macros.h"
#include "base/topological_order.h"
#include "graph/order/cycle.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

bool OverwritesInputs(const Node& node, const OpRegistry& registry) {
  const OpDef* def = registry.Find(node.op);
  return def != nullptr && !def->mutates.empty();
}

// For each node: the edges into it.
IdMap<NodeId, int32_t> CountPredecessors(const Graph& graph) {
  IdMap<NodeId, int32_t> missing(graph.num_nodes(), 0);
  for (const Node& node : graph.nodes()) {
    missing[node.id] =
        static_cast<int32_t>(node.inputs.size() + node.control_inputs.size());
  }
  return missing;
}

// `is_stuck` holds for at least one node. Each node for which it holds has a
// predecessor for which it holds too.
absl::Status CycleError(const Graph& graph,
                        absl::FunctionRef<bool(NodeId)> is_stuck) {
  NodeId start;
  for (const Node& node : graph.nodes()) {
    if (!start.is_valid() && is_stuck(node.id)) start = node.id;
  }
  const auto waits_for = [&](int32_t id) {
    NodeId blocker;
    ForEachPredecessor(graph, NodeId(id), [&](NodeId before) {
      if (!blocker.is_valid() && is_stuck(before)) blocker = before;
    });
    return blocker.value();
  };
  const auto name = [&](int32_t id) -> std::string_view {
    return graph.node(NodeId(id)).name;
  };
  return InvalidArgument(
      fmt::format("the graph has a cycle: {}",
                  DescribeCycle(start.value(), waits_for, name)));
}

absl::Status CheckClosed(const Graph& graph, const IdMap<NodeId, bool>& keep) {
  for (const Node& node : graph.nodes()) {
    if (!keep[node.id]) continue;
    NodeId absent;
    ForEachPredecessor(graph, node.id, [&](NodeId before) {
      if (!keep[before]) absent = before;
    });
    if (absent.is_valid()) {
      return InvalidArgument(
          fmt::format("{} cannot be scheduled without {}, which is left out",
                      node.name, graph.node(absent).name));
    }
  }
  return absl::OkStatus();
}

// The preferences for a graph with clones; as given for a graph without.
IdMap<NodeId, int32_t> WithClonesBeforeReaders(
    const Graph& graph, const IdMap<NodeId, bool>& keep,
    IdMap<NodeId, int32_t> preference) {
  std::vector<NodeId> clones;
  for (const Node& node : graph.nodes()) {
    if (IsCloneName(node.name)) clones.push_back(node.id);
  }
  if (clones.empty()) return preference;
  if (preference.empty()) {
    preference.resize(graph.num_nodes());
    for (const NodeId id : preference.ids()) preference[id] = id.value();
  }
  // Readers first, since a clone may read a clone, which has a lower id.
  for (size_t i = clones.size(); i-- > 0;) {
    const NodeId id = clones[i];
    int32_t first = std::numeric_limits<int32_t>::max();
    for (const ValueId output : graph.node(id).outputs) {
      ForEachReader(graph, output, [&](NodeId reader) {
        if (keep.empty() || keep[reader]) {
          first = std::min(first, preference[reader]);
        }
      });
    }
    preference[id] = first;
  }
  return preference;
}

}  // namespace

void SetSteps(size_t num_nodes, Schedule& schedule) {
  schedule.step_of = IdMap<NodeId, int32_t>(num_nodes, -1);
  for (size_t i = 0; i < schedule.order.size(); ++i) {
    schedule.step_of[schedule.order[i]] = static_cast<int32_t>(i);
  }
}

IdMap<NodeId, bool> NodesToRun(const Graph& graph, const OpRegistry& registry,
                               std::span<const ValueId> fetches) {
  IdMap<NodeId, bool> needed(graph.num_nodes(), false);
  std::vector<NodeId> open;
  const auto need = [&](NodeId id) {
    if (needed[id]) return;
    needed[id] = true;
    open.push_back(id);
  };
  for (const ValueId fetch : fetches) need(graph.value(fetch).producer);
  for (const Node& node : graph.nodes()) {
    if (OverwritesInputs(node, registry)) need(node.id);
  }
  if (open.empty()) return IdMap<NodeId, bool>(graph.num_nodes(), true);
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    ForEachPredecessor(graph, id, need);
  }
  return needed;
}

int ReadyRank(const Node& node, const OpRegistry& registry) {
  const OpDef* def = registry.Find(node.op);
  if (def != nullptr && def->resident) return 0;  // no work, only bytes
  if (CopiesToHost(node.op)) return 1;
  if (node.op == kSwapIn) return 2;
  if (IsCollective(node.op)) return 3;
  return OverwritesInputs(node, registry) ? 4 : kComputeRank;
}

absl::StatusOr<Schedule> MakeSchedule(const Graph& graph,
                                      const OpRegistry& registry,
                                      const IdMap<NodeId, bool>& keep,
                                      const IdMap<NodeId, int32_t>& given) {
  const IdMap<NodeId, int32_t> preference =
      WithClonesBeforeReaders(graph, keep, given);
  if (!keep.empty()) SPILLWAY_RETURN_IF_ERROR(CheckClosed(graph, keep));
  const auto is_kept = [&](NodeId id) { return keep.empty() || keep[id]; };

  using Ready = std::tuple<int, int32_t, NodeId>;  // rank, preference, id
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto make_ready = [&](NodeId id) {
    ready.emplace(ReadyRank(graph.node(id), registry),
                  preference.empty() ? 0 : preference[id], id);
  };
  IdMap<NodeId, int32_t> missing = CountPredecessors(graph);
  size_t num_kept = 0;
  for (const Node& node : graph.nodes()) {
    if (!is_kept(node.id)) continue;
    ++num_kept;
    if (missing[node.id] == 0) make_ready(node.id);
  }

  Schedule schedule;
  schedule.order.reserve(num_kept);
  schedule.step_of.resize(graph.num_nodes(), -1);
  while (!ready.empty()) {
    const NodeId id = std::get<NodeId>(ready.top());
    ready.pop();
    schedule.step_of[id] = static_cast<int32_t>(schedule.order.size());
    schedule.order.push_back(id);
    ForEachSuccessor(graph, id, [&](NodeId after) {
      if (--missing[after] == 0 && is_kept(after)) make_ready(after);
    });
  }
  if (schedule.order.size() < num_kept) {
    return CycleError(graph, [&](NodeId id) {
      return is_kept(id) && !schedule.contains(id);
    });
  }
  return schedule;
}

absl::Status CheckSchedule(const Graph& graph, const IdMap<NodeId, bool>& keep,
                           const Schedule& schedule) {
  const auto is_kept = [&](NodeId id) { return keep.empty() || keep[id]; };
  IdMap<NodeId, bool> has_run(graph.num_nodes(), false);
  for (const NodeId id : schedule.order) {
    if (!id.is_valid() || id.index() >= graph.num_nodes()) {
      return InvalidArgument(
          fmt::format("the order has node {}, but the graph has {} nodes",
                      id.value(), graph.num_nodes()));
    }
    const std::string& name = graph.node(id).name;
    if (!is_kept(id) || has_run[id]) {
      return InvalidArgument(fmt::format(
          "the order has {}, which {}", name,
          has_run[id] ? "it had before" : "is not part of the step"));
    }
    bool is_early = false;
    ForEachPredecessor(graph, id,
                       [&](NodeId before) { is_early |= !has_run[before]; });
    if (is_early) {
      return InvalidArgument(
          fmt::format("the order has {} before something that it needs", name));
    }
    has_run[id] = true;
  }
  for (const Node& node : graph.nodes()) {
    if (is_kept(node.id) && !has_run[node.id]) {
      return InvalidArgument(fmt::format("the order lacks {}", node.name));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<IdMap<NodeId, int32_t>> Levels(const Graph& graph) {
  IdMap<NodeId, int32_t> levels(graph.num_nodes(), 0);
  TopologicalOrder<NodeId> order(CountPredecessors(graph));
  for (NodeId id = order.Next(); id.is_valid(); id = order.Next()) {
    ForEachSuccessor(graph, id, [&](NodeId after) {
      levels[after] = std::max(levels[after], levels[id] + 1);
      order.Arrive(after);
    });
  }
  if (!order.is_complete()) {
    return CycleError(graph, [&](NodeId id) { return order.is_waiting(id); });
  }
  return levels;
}

std::vector<NodeId> OrderByLevel(const IdMap<NodeId, int32_t>& levels) {
  std::vector<size_t> begins(levels.size() + 1, 0);
  for (const int32_t level : levels) ++begins[static_cast<size_t>(level) + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<NodeId> order(levels.size());
  for (const NodeId id : levels.ids()) {
    order[begins[static_cast<size_t>(levels[id])]++] = id;
  }
  return order;
}

}  // namespace spillway
