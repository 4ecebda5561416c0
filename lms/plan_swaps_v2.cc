#include "lms/plan_swaps_v2.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/schedule.h"
#include "lms/apply_swap_plan.h"
#include "lms/edit_view.h"
#include "lms/incremental_order.h"
#include "lms/serialize_levels.h"
#include "lms/v2_candidates.h"
#include "lms/v2_levels.h"
#include "lms/v2_options.h"
#include "lms/v2_report.h"
#include "lms/v2_roles.h"
#include "lms/v2_sync.h"

namespace spillway {
namespace {

// Nodes by the levels of the graph without swaps: swap-outs follow their level,
// swap-ins come before that of their first reader.
std::vector<NodeId> OrderByLevel(const EditView& view,
                                 const IdMap<NodeId, int32_t>& levels) {
  const auto key_of = [&](NodeId id) {
    if (!view.IsSwap(id)) return 3 * int64_t{levels[id]} + 1;
    if (!view.IsSwapIn(id)) {
      const NodeId source = view.graph().value(view.ValueOf(id)).producer;
      return 3 * int64_t{levels[source]} + 2;
    }
    int32_t first = std::numeric_limits<int32_t>::max();
    view.ForEachReader(
        id, [&](NodeId reader) { first = std::min(first, levels[reader]); });
    return 3 * int64_t{first};
  };
  std::vector<std::pair<int64_t, NodeId>> keyed;
  keyed.reserve(view.num_nodes());
  for (size_t i = 0; i < view.num_nodes(); ++i) {
    keyed.emplace_back(key_of(NodeId(i)), NodeId(i));
  }
  std::ranges::sort(keyed);
  std::vector<NodeId> order;
  order.reserve(keyed.size());
  for (const auto& [key, id] : keyed) order.push_back(id);
  return order;
}

class Planner {
 public:
  Planner(const LmsOptions& options, const Graph& graph)
      : options_(options), graph_(&graph) {}

  absl::StatusOr<SwapPlan> Run() {
    ASSIGN_OR_RETURN(true_levels_, Levels(*graph_));
    ASSIGN_OR_RETURN(roles_, FindV2Roles(options_, *graph_));
    levels_ = FindV2Levels(*graph_);
    Append(DescribeGraph(*graph_, roles_, levels_));
    RETURN_IF_ERROR(Serialize());
    if (debugs()) Append(DescribeLevels(*graph_, levels_));
    Append(DescribeOptions(options_));
    EditView view(*graph_);
    plan_.swaps = FindV2Candidates(ContextOf(view), plan_.dropped);
    if (!options_.compat) ChooseTriggers(ContextOf(view));
    if (!plan_.swaps.empty()) {
      if (debugs()) DescribeSwaps();
      view.AddSwaps(plan_.swaps);
      AddControlEdges(view);
    }
    return std::move(plan_);
  }

 private:
  V2Context ContextOf(const EditView& view) const {
    return {options_, view, levels_, roles_};
  }
  bool debugs() const { return options_.debug_level >= 1; }

  void Append(std::vector<LogLine> lines) {
    std::ranges::move(lines, std::back_inserter(plan_.log));
  }

  // Levels are counted again afterwards.
  absl::Status Serialize() {
    if (options_.serialization.empty() &&
        options_.serialization_by_size_gib == 0) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const LevelChains chains,
                     SerializeLevels(options_, *graph_, levels_, roles_));
    EditView view(*graph_);
    IncrementalOrder order(view, OrderByLevel(view, true_levels_));
    serialized_ = *graph_;
    for (const AddedOrder& edge : chains.orders) {
      // A cycle can arise only around the body of a loop, which has no levels.
      if (order.ClosesCycle(edge.before, edge.after)) continue;
      view.AddControlEdge(edge.before, edge.after);
      serialized_->AddControlEdge(edge.before, edge.after);
      plan_.orders.push_back(edge);
    }
    graph_ = &*serialized_;
    levels_ = FindV2Levels(*graph_);
    ASSIGN_OR_RETURN(true_levels_, Levels(*graph_));
    Append(DescribeSerialization(options_, chains, levels_));
    return absl::OkStatus();
  }

  // What starts each swap-in, in the graph without swaps; keeps those swaps
  // that gain something.
  void ChooseTriggers(const V2Context& context) {
    TriggerSearch search(context);
    for (Swap& swap : plan_.swaps) {
      const NodeId source = graph_->value(swap.value).producer;
      for (SwapIn& swap_in : swap.swap_ins) {
        const NodeId reader = EarliestReader(swap_in, levels_);
        if (!SyncsSwapIns(options_)) {
          const NodeId trigger = search.Find(source, reader);
          if (trigger.is_valid()) swap_in.triggers = {trigger};
        }
        if (swap_in.triggers.empty()) {
          swap_in.triggers = ReadyNodes(context, source, reader);
        }
      }
      KeepUsefulSwapIns(context, swap, plan_.dropped);
    }
    std::erase_if(plan_.swaps,
                  [](const Swap& swap) { return swap.swap_ins.empty(); });
  }

  // Nodes after which `reader` needs nothing but the value of `source`: its
  // other predecessors, or else the level before it.
  std::vector<NodeId> ReadyNodes(const V2Context& context, NodeId source,
                                 NodeId reader) const {
    const auto leave_out = [&](NodeId id) {
      return id == source || IsSourceOfData(graph_->node(id)) ||
             true_levels_[id] >= true_levels_[reader];
    };
    std::vector<NodeId> ready = DevicePredecessors(context, reader);
    std::erase_if(ready, leave_out);
    if (!ready.empty()) return ready;
    ready = DeviceNodesBefore(context, reader);
    std::erase_if(ready, leave_out);
    return ready;
  }

  // The graph with the swaps, for the names that they will have.
  const Graph& named() {
    if (named_) return *named_;
    SwapPlan swaps_alone;
    for (const Swap& swap : plan_.swaps) {
      Swap& alone = swaps_alone.swaps.emplace_back(Swap{.value = swap.value});
      for (const SwapIn& swap_in : swap.swap_ins) {
        alone.swap_ins.push_back({.readers = swap_in.readers});
      }
    }
    named_ = *graph_;
    ApplySwapPlan(swaps_alone, *named_);
    return *named_;
  }

  void DescribeSwaps() {
    for (const Swap& swap : plan_.swaps) Append(DescribeSwap(swap, named()));
  }

  void AddControlEdges(EditView& view) {
    IncrementalOrder order(view, OrderByLevel(view, true_levels_));
    const auto name = [&](NodeId id) { return named().node(id).name; };
    V2Sync sync(ContextOf(view), view, order, plan_.log, name);
    FindSwapNodes();
    if (!options_.compat) {
      AddChosenTriggers(sync);
    } else if (!SyncsSwapIns(options_)) {
      SearchTriggers(ContextOf(view), sync);
    }
    // Without compat, swap-ins have their triggers by now.
    if (SyncsSwapIns(options_)) {
      for (const NodeId host : HostNodes(view, options_.compat)) {
        sync.SyncToDevice(host);
      }
    }
    if (SyncsSwapOuts(options_)) {
      for (const NodeId host : HostNodes(view, true)) sync.SyncToHost(host);
    }
    for (const AddedOrder& edge : sync.added()) Record(edge);
    plan_.dropped.insert(plan_.dropped.end(), sync.refused().begin(),
                         sync.refused().end());
  }

  void FindSwapNodes() {
    size_t next = graph_->num_nodes();
    for (const Swap& swap : plan_.swaps) {
      swap_outs_.emplace_back(next);
      next += 1 + swap.swap_ins.size();
    }
  }

  // Calls visit(swap, swap-in, its node) in the order of creation.
  template <typename Visit>
  void ForEachSwapIn(Visit visit) {
    for (size_t i = 0; i < plan_.swaps.size(); ++i) {
      int32_t node = swap_outs_[i].value();
      for (SwapIn& swap_in : plan_.swaps[i].swap_ins) {
        visit(plan_.swaps[i], swap_in, NodeId(++node));
      }
    }
  }

  void AddChosenTriggers(V2Sync& sync) {
    ForEachSwapIn([&](const Swap& swap, SwapIn& swap_in, NodeId node) {
      // Those that are added come back with all other edges.
      for (const NodeId trigger : std::exchange(swap_in.triggers, {})) {
        sync.AddEdge(trigger, node, swap.value);
      }
    });
  }

  // The original's way, in the graph that has the swaps.
  void SearchTriggers(const V2Context& context, V2Sync& sync) {
    TriggerSearch search(context);
    ForEachSwapIn([&](const Swap& swap, const SwapIn& swap_in, NodeId node) {
      const NodeId reader = EarliestReader(swap_in, levels_);
      if (debugs()) LogSearch(reader);
      const NodeId trigger =
          search.Find(graph_->value(swap.value).producer, reader);
      if (trigger.is_valid()) {
        sync.AddEdge(trigger, node, swap.value);
      } else {
        if (debugs()) LogNoTrigger(node);
        sync.SyncToDevice(node);
      }
    });
  }

  void LogSearch(NodeId reader) {
    plan_.log.push_back(
        {1, fmt::format("Find a control dependency for swapping in {} (level "
                        "{})",
                        graph_->node(reader).name, levels_.of(reader))});
  }

  void LogNoTrigger(NodeId swap_in) {
    plan_.log.push_back(
        {1, fmt::format("No control dependency op found for the swap-in {}.",
                        named().node(swap_in).name)});
  }

  // Active nodes of the host, then, if asked for, the swaps.
  std::vector<NodeId> HostNodes(const EditView& view, bool with_swaps) const {
    std::vector<NodeId> hosts;
    for (const Node& node : graph_->nodes()) {
      if (node.placement == Placement::kHost && roles_.is_active[node.id]) {
        hosts.push_back(node.id);
      }
    }
    if (!with_swaps) return hosts;
    for (size_t i = graph_->num_nodes(); i < view.num_nodes(); ++i) {
      hosts.emplace_back(i);
    }
    return hosts;
  }

  // Puts an edge where the plan keeps its kind. Swap nodes are numbered as
  // swap-out, its swap-ins, next swap-out, ...
  void Record(const AddedOrder& edge) {
    const bool is_trigger = edge.after.index() >= graph_->num_nodes();
    const NodeId node = is_trigger ? edge.after : edge.before;
    if (node.index() < graph_->num_nodes()) {
      plan_.orders.push_back(edge);
      return;
    }
    const auto next = std::ranges::upper_bound(swap_outs_, node);
    const auto at = static_cast<size_t>(next - swap_outs_.begin()) - 1;
    if (is_trigger) {
      const size_t swap_in = node.index() - swap_outs_[at].index() - 1;
      plan_.swaps[at].swap_ins[swap_in].triggers.push_back(edge.before);
    } else {
      plan_.swaps[at].waiters.push_back(edge.after);
    }
  }

  const LmsOptions& options_;
  const Graph* graph_;  // the original, or with its levels serialized
  std::optional<Graph> serialized_;
  std::optional<Graph> named_;
  IdMap<NodeId, int32_t> true_levels_;  // as V2Levels, but of every node
  V2Levels levels_;
  V2Roles roles_;
  std::vector<NodeId> swap_outs_;  // of each swap of the plan
  SwapPlan plan_;
};

}  // namespace

absl::StatusOr<SwapPlan> PlanSwapsV2(const LmsOptions& options,
                                     const Graph& graph) {
  return Planner(options, graph).Run();
}

}  // namespace spillway
