#include "lms/v1/plan_swaps.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/order/schedule.h"
#include "lms/drop_cycles.h"
#include "lms/edit_view.h"
#include "lms/storage_readers.h"
#include "lms/v1/notes.h"
#include "lms/v1/orders.h"
#include "lms/v1/sources.h"
#include "lms/v1/triggers.h"
#include "lms/v1/useful_swap_ins.h"

namespace spillway {
namespace {

// The analysis of the graph before the first swap.
struct Analysis {
  const StorageMap& storages;
  V1Orders orders = {};
  IdMap<NodeId, bool> may_move = {};
  IdMap<NodeId, int32_t> levels = {};
};

class V1Planner {
 public:
  V1Planner(const LmsOptions& options, const Graph& graph,
            const Analysis& analysis)
      : options_(options),
        graph_(graph),
        orders_(analysis.orders),
        storages_(analysis.storages),
        may_move_(analysis.may_move),
        view_(graph),
        triggers_(options, graph, orders_, storages_, view_),
        notes_(options, graph, orders_, plan_.log),
        useful_swap_ins_({.options = options,
                          .graph = graph,
                          .orders = orders_,
                          .levels = analysis.levels,
                          .storages = storages_,
                          .triggers = triggers_,
                          .notes = notes_,
                          .dropped = plan_.dropped}),
        is_visited_(graph.num_nodes(), false),
        met_behind_(graph.num_nodes(), 0) {}

  // Visits the forward nodes breadth first. Collects a node's readers before
  // its own tensors are edited; swap nodes are passed through.
  SwapPlan Run() {
    std::deque<NodeId> queue(orders_.seeds.begin(), orders_.seeds.end());
    std::vector<bool> is_queued(graph_.num_nodes(), false);
    for (const NodeId seed : queue) is_queued[seed.index()] = true;
    while (!queue.empty() && !limit_reached()) {
      const NodeId node = queue.front();
      queue.pop_front();
      const std::vector<NodeId> next = ForwardReaders(node);
      if (!view_.IsSwap(node)) VisitNode(node);
      is_queued.resize(view_.num_nodes(), false);
      for (const NodeId reader : next) {
        if (is_queued[reader.index()]) continue;
        is_queued[reader.index()] = true;
        queue.push_back(reader);
      }
    }
    return std::move(plan_);
  }

 private:
  bool is_gradient(NodeId id) const {
    return !view_.IsSwap(id) && orders_.is_gradient[id];
  }
  int32_t order(NodeId id) const {
    return view_.IsSwap(id) ? -1 : orders_.order[id];
  }
  bool limit_reached() const {
    return options_.v1.n_tensors >= 0 &&
           static_cast<int64_t>(plan_.swaps.size()) >= options_.v1.n_tensors;
  }

  std::vector<NodeId> ForwardReaders(NodeId id) const {
    std::vector<NodeId> readers;
    view_.ForEachReader(id, [&](NodeId reader) {
      if (!is_gradient(reader)) readers.push_back(reader);
    });
    std::ranges::sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    return readers;
  }

  // One visit is enough: a second would find nothing left to swap.
  void VisitNode(NodeId id) {
    if (is_visited_[id]) return;
    is_visited_[id] = true;
    notes_.Visit(id);
    if (!may_move_[id]) return;
    for (const ValueId value : graph_.node(id).outputs) {
      if (limit_reached()) return;
      VisitValue(id, value);
    }
  }

  void VisitValue(NodeId producer, ValueId value) {
    if (!MaySwap(storages_, value)) return;
    const std::vector<NodeId> all =
        ReadersOf(graph_, storages_, storages_.of(value));
    const std::vector<NodeId> readers = ReadersToMove(all);
    notes_.Readers(all);
    if (readers.empty()) return;
    notes_.Candidate(producer);
    if (graph_.type(value).num_bytes() < options_.size_threshold_bytes) {
      plan_.dropped.push_back(
          {.value = value, .reason = "smaller than the size threshold"});
      VisitSourcesBehind(producer, readers);
    } else if (options_.compat) {
      SwapAsOriginal(producer, value, readers);
    } else {
      SwapWithGap(value, readers);
      VisitSourcesBehind(producer, readers);
    }
  }

  // Gradient nodes and, with swap_branches, far forward nodes; without nodes
  // whose outputs have no readers.
  std::vector<NodeId> ReadersToMove(const std::vector<NodeId>& readers) const {
    const int64_t nearest = NearestForwardOrder(readers);
    std::vector<NodeId> moved;
    for (const NodeId reader : readers) {
      const bool is_far =
          options_.v1.swap_branches && !is_gradient(reader) &&
          order(reader) > nearest + options_.v1.branch_threshold;
      const bool stays_on_host =
          !options_.compat && graph_.node(reader).placement == Placement::kHost;
      if ((is_gradient(reader) || is_far) && view_.HasReaders(reader) &&
          !stays_on_host) {
        moved.push_back(reader);
      }
    }
    return moved;
  }

  // With compat a reader of unknown order, -1, counts as the nearest.
  int64_t NearestForwardOrder(const std::vector<NodeId>& readers) const {
    int64_t nearest = std::numeric_limits<int32_t>::max();
    for (const NodeId reader : readers) {
      if (is_gradient(reader)) continue;
      if (order(reader) < 0 && !options_.compat) continue;
      nearest = std::min<int64_t>(nearest, order(reader));
    }
    return nearest;
  }

  // As in the original: every timed reader gets a swap-in, with or without a
  // trigger.
  void SwapAsOriginal(NodeId producer, ValueId value,
                      std::vector<NodeId> readers) {
    const bool any_timed = std::ranges::any_of(
        readers, [&](NodeId reader) { return order(reader) >= 0; });
    NodeId swap_out;
    const size_t place = plan_.swaps.size();
    if (any_timed) {
      swap_out = view_.AddSwapOut(value);
      plan_.swaps.push_back({.value = value});
      notes_.SwapOut(value);
    }
    const auto add_swap_in = [&](const std::vector<NodeId>& shared) {
      SwapIn swap_in = {.readers = shared};
      view_.AddSwapIn(swap_out, swap_in);
      notes_.SwapIn(value, shared);
      swap_in.triggers = TriggersOf(producer, shared);
      plan_.swaps[place].swap_ins.push_back(std::move(swap_in));
    };
    if (options_.v1.fuse_swapins) {
      const std::vector<NodeId> shared = TakeShared(readers);
      if (!shared.empty()) add_swap_in(shared);
    }
    for (const NodeId reader : readers) {
      if (order(reader) >= 0) {
        add_swap_in({reader});
      } else {
        VisitSourcesBehind(producer, {reader});
      }
    }
  }

  // Moves the readers of an order above 0 out of `readers`, if there are at
  // least two.
  std::vector<NodeId> TakeShared(std::vector<NodeId>& readers) const {
    std::vector<NodeId> shared = readers;
    std::erase_if(shared, [&](NodeId reader) { return order(reader) <= 0; });
    if (shared.size() < 2) return {};
    std::erase_if(readers, [&](NodeId reader) { return order(reader) > 0; });
    return shared;
  }

  // The trigger of a swap-in for all of `readers`: that of the first reader to
  // run. Empty if none is found.
  std::vector<NodeId> TriggersOf(NodeId producer,
                                 const std::vector<NodeId>& readers) {
    const NodeId first = *std::ranges::min_element(
        readers, {}, [&](NodeId id) { return std::pair(order(id), id); });
    const NodeId trigger = triggers_.Find(producer, first);
    notes_.Trigger(producer, trigger);
    if (!trigger.is_valid()) return {};
    return {trigger};
  }

  // Without compat: readers move to a swap-in only if that frees memory.
  void SwapWithGap(ValueId value, std::vector<NodeId> readers) {
    std::erase_if(readers, [&](NodeId reader) { return order(reader) < 0; });
    Swap swap = {.value = value,
                 .swap_ins = useful_swap_ins_.Find(value, readers)};
    if (swap.swap_ins.empty()) return;
    notes_.SwapOut(value);
    for (const SwapIn& swap_in : swap.swap_ins) {
      notes_.SwapIn(value, swap_in.readers);
    }
    plan_.swaps.push_back(std::move(swap));
  }

  // A gradient node of unknown order may run at once, so its results are
  // swapped instead: visits the nodes behind it that have a reader in the timed
  // part of the backward phase.
  void VisitSourcesBehind(NodeId producer, const std::vector<NodeId>& readers) {
    if (is_gradient(producer)) return;
    for (const NodeId reader : readers) {
      if (order(reader) < 0) VisitSourcesBehind(reader);
    }
  }

  // Skips nodes that an earlier call met: their sources were visited.
  void VisitSourcesBehind(NodeId start) {
    const int32_t search = ++searches_;
    std::vector<NodeId> met;
    std::vector<NodeId> sources;
    MeetBehind(start, search, met);
    for (size_t done = 0; done < met.size(); ++done) {
      bool is_source = false;
      view_.ForEachReader(met[done], [&](NodeId reader) {
        const bool is_timed = order(reader) > orders_.backward_start;
        is_source = is_source || is_timed;
        if (!is_timed) MeetBehind(reader, search, met);
      });
      if (is_source && !view_.IsSwap(met[done])) {
        sources.push_back(met[done]);
      }
    }
    std::ranges::sort(sources);
    for (const NodeId source : sources) VisitNode(source);
    for (const NodeId id : met) met_behind_[id] = kFinished;
  }

  void MeetBehind(NodeId id, int32_t search, std::vector<NodeId>& met) {
    if (id.index() >= met_behind_.size()) {
      met_behind_.resize(view_.num_nodes(), 0);
    }
    if (met_behind_[id] == search || met_behind_[id] == kFinished) return;
    met_behind_[id] = search;
    met.push_back(id);
  }

  static constexpr int32_t kFinished = -1;

  const LmsOptions& options_;
  const Graph& graph_;
  const V1Orders& orders_;
  const StorageMap& storages_;
  const IdMap<NodeId, bool>& may_move_;
  EditView view_;  // with compat, edited while planning, as in the original
  TriggerFinder triggers_;
  SwapPlan plan_;
  V1Notes notes_;
  UsefulSwapIns useful_swap_ins_;
  IdMap<NodeId, bool> is_visited_;
  // The last search behind a gradient node of unknown order that met the node,
  // or kFinished.
  IdMap<NodeId, int32_t> met_behind_;
  int32_t searches_ = 0;
};

// No edit may close a cycle. Without compat the swaps are dropped; with compat
// the original's choice is refused.
absl::Status RemoveCycles(bool compat, const Graph& graph,
                          const IdMap<NodeId, int32_t>& levels,
                          SwapPlan& plan) {
  if (!compat) {
    DropCycles(graph, levels, plan);
    return absl::OkStatus();
  }
  SwapPlan without_cycles = plan;
  if (DropCycles(graph, levels, without_cycles) == 0) return absl::OkStatus();
  return FailedPrecondition(fmt::format(
      "with lms_compat the edit of this graph closes a cycle, through the "
      "trigger of a swap-in of {}; leave lms_compat out",
      graph.ValueName(without_cycles.dropped.back().value)));
}

}  // namespace

absl::StatusOr<SwapPlan> PlanSwapsV1(const LmsOptions& options,
                                     const StorageMap& storages,
                                     const Graph& graph) {
  Analysis analysis = {.storages = storages};
  SPILLWAY_ASSIGN_OR_RETURN(analysis.orders,
                            FindV1Orders(options, storages, graph));
  SPILLWAY_ASSIGN_OR_RETURN(analysis.may_move,
                            FindV1Sources(options, graph, analysis.orders));
  SPILLWAY_ASSIGN_OR_RETURN(analysis.levels, Levels(graph));
  SwapPlan plan = V1Planner(options, graph, analysis).Run();
  SPILLWAY_RETURN_IF_ERROR(
      RemoveCycles(options.compat, graph, analysis.levels, plan));
  return plan;
}

}  // namespace spillway
