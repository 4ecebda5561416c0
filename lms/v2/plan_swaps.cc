#include "lms/v2/plan_swaps.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "lms/apply_swap_plan.h"
#include "lms/edit_view.h"
#include "lms/incremental_order.h"
#include "lms/storage_readers.h"
#include "lms/v2/candidates.h"
#include "lms/v2/graph.h"
#include "lms/v2/options.h"
#include "lms/v2/report.h"
#include "lms/v2/sync.h"

namespace spillway {
namespace {

class V2Planner {
 public:
  // Borrows its arguments.
  V2Planner(const LmsOptions& options, const StorageMap& storages,
            const V2Graph& v2)
      : options_(options), v2_(v2), graph_(v2.graph()), storages_(storages) {}

  SwapPlan Run() {
    plan_.orders = v2_.orders;
    plan_.log = v2_.log;
    if (debugs()) Append(DescribeLevels(graph_, v2_.levels));
    Append(DescribeOptions(options_));
    EditView view(graph_);
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
    return {options_, view, v2_.levels, v2_.roles, storages_};
  }
  bool debugs() const { return options_.debug_level >= 1; }

  void Append(std::vector<LogLine> lines) {
    std::ranges::move(lines, std::back_inserter(plan_.log));
  }

  // Finds what starts each swap-in, in the graph without swaps; keeps only
  // useful swaps.
  void ChooseTriggers(const V2Context& context) {
    TriggerSearch search(context);
    for (Swap& swap : plan_.swaps) {
      const NodeId source = graph_.value(swap.value).producer;
      for (SwapIn& swap_in : swap.swap_ins) {
        const NodeId reader = EarliestReader(swap_in, v2_.levels);
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

  // Nodes after which `reader` needs only the value of `source`: its other
  // predecessors, or if there are none the nodes of the level before it.
  std::vector<NodeId> ReadyNodes(const V2Context& context, NodeId source,
                                 NodeId reader) const {
    const auto leave_out = [&](NodeId id) {
      return id == source || storages_.is_pure_alias(id) ||
             IsSourceOfData(graph_.node(id)) ||
             v2_.true_levels[id] >= v2_.true_levels[reader];
    };
    std::vector<NodeId> ready =
        BehindAliases(context, DevicePredecessors(context, reader));
    std::erase_if(ready, leave_out);
    if (!ready.empty()) return ready;
    ready = DeviceNodesBefore(context, reader);
    std::erase_if(ready, leave_out);
    return ready;
  }

  // Replaces each pure alias by the device node that makes its bytes, if one
  // does.
  std::vector<NodeId> BehindAliases(const V2Context& context,
                                    std::vector<NodeId> nodes) const {
    for (NodeId& id : nodes) {
      if (!storages_.is_pure_alias(id)) continue;
      const ValueId root = storages_.of(graph_.output(id)).root;
      id = graph_.value(root).producer;
    }
    std::erase_if(nodes,
                  [&](NodeId id) { return !context.roles.on_device[id]; });
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }

  // The graph with the swaps, for their final names.
  const Graph& named() {
    if (named_) return *named_;
    SwapPlan swaps_alone;
    for (const Swap& swap : plan_.swaps) {
      Swap& alone = swaps_alone.swaps.emplace_back(Swap{.value = swap.value});
      for (const SwapIn& swap_in : swap.swap_ins) {
        alone.swap_ins.push_back({.readers = swap_in.readers});
      }
    }
    named_ = graph_;
    ApplySwapPlan(swaps_alone, *named_);
    return *named_;
  }

  void DescribeSwaps() {
    for (const Swap& swap : plan_.swaps) Append(DescribeSwap(swap, named()));
  }

  void AddControlEdges(EditView& view) {
    IncrementalOrder order(view, v2_.true_levels);
    const auto name = [&](NodeId id) { return named().node(id).name; };
    V2Sync sync(ContextOf(view), view, order, plan_.log, name);
    FindSwapNodes();
    if (!options_.compat) {
      AddChosenTriggers(sync);
    } else if (!SyncsSwapIns(options_)) {
      SearchTriggers(ContextOf(view), sync);
    }
    // Without compat, all swap-ins have their triggers by now.
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
    size_t next = graph_.num_nodes();
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
      // The triggers that are added come back through Record with all other
      // edges.
      for (const NodeId trigger : std::exchange(swap_in.triggers, {})) {
        sync.AddEdge(trigger, node, swap.value);
      }
    });
  }

  // As in the original: searches in the graph that has the swaps.
  void SearchTriggers(const V2Context& context, V2Sync& sync) {
    TriggerSearch search(context);
    ForEachSwapIn([&](const Swap& swap, const SwapIn& swap_in, NodeId node) {
      const NodeId reader = EarliestReader(swap_in, v2_.levels);
      if (debugs()) LogSearch(reader);
      const NodeId trigger =
          search.Find(graph_.value(swap.value).producer, reader);
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
                        graph_.node(reader).name, v2_.levels.of(reader))});
  }

  void LogNoTrigger(NodeId swap_in) {
    plan_.log.push_back(
        {1, fmt::format("No control dependency op found for the swap-in {}.",
                        named().node(swap_in).name)});
  }

  // Active nodes on the host, then, with `with_swaps`, the swaps.
  std::vector<NodeId> HostNodes(const EditView& view, bool with_swaps) const {
    std::vector<NodeId> hosts;
    for (const Node& node : graph_.nodes()) {
      if (node.placement == Placement::kHost && v2_.roles.is_active[node.id]) {
        hosts.push_back(node.id);
      }
    }
    if (!with_swaps) return hosts;
    for (size_t i = graph_.num_nodes(); i < view.num_nodes(); ++i) {
      hosts.emplace_back(i);
    }
    return hosts;
  }

  // Records an edge in the plan according to its kind. Swap nodes are numbered
  // as swap-out, its swap-ins, next swap-out, ...
  void Record(const AddedOrder& edge) {
    const bool is_trigger = edge.after.index() >= graph_.num_nodes();
    const NodeId node = is_trigger ? edge.after : edge.before;
    if (node.index() < graph_.num_nodes()) {
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
  const V2Graph& v2_;
  const Graph& graph_;
  const StorageMap& storages_;
  std::optional<Graph> named_;
  std::vector<NodeId> swap_outs_;  // of each swap of the plan
  SwapPlan plan_;
};

}  // namespace

absl::StatusOr<SwapPlan> PlanSwapsV2(const LmsOptions& options,
                                     const StorageMap& storages,
                                     const Graph& graph) {
  SPILLWAY_ASSIGN_OR_RETURN(const V2Graph v2, MakeV2Graph(options, graph));
  return V2Planner(options, storages, v2).Run();
}

}  // namespace spillway
