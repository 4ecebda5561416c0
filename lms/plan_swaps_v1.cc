#include "lms/plan_swaps_v1.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/schedule.h"
#include "graph/well_known_ops.h"
#include "lms/apply_swap_plan.h"
#include "lms/v1_orders.h"

namespace spillway {
namespace {

// Ops whose outputs the original never swaps.
constexpr std::array<std::string_view, 10> kNeverSources = {
    "Add",         "Assign",  "Const", "Identity", "Mul",
    "Placeholder", "Reshape", "Shape", "ShapeN",   "VariableV2"};

class Planner {
 public:
  Planner(const LmsOptions& options, const Graph& graph, V1Orders orders,
          IdMap<NodeId, int32_t> levels)
      : options_(options),
        graph_(graph),
        orders_(std::move(orders)),
        levels_(std::move(levels)) {}

  // Breadth first over the forward nodes. Readers are noted before the node's
  // own tensors are edited.
  SwapPlan Run() {
    std::deque<NodeId> queue(orders_.seeds.begin(), orders_.seeds.end());
    IdMap<NodeId, bool> queued(graph_.num_nodes(), false);
    for (const NodeId seed : queue) queued[seed] = true;
    while (!queue.empty() && !limit_reached()) {
      const NodeId node = queue.front();
      queue.pop_front();
      for (const NodeId reader : ForwardReaders(node)) {
        if (reader.index() >= queued.size() || queued[reader]) continue;
        queued[reader] = true;
        queue.push_back(reader);
      }
      VisitNode(node);
    }
    return std::move(plan_);
  }

 private:
  // Swap nodes, which `graph_` gains on the way, belong to neither phase.
  bool is_gradient(NodeId id) const {
    return id.index() < orders_.is_gradient.size() && orders_.is_gradient[id];
  }
  int32_t order(NodeId id) const {
    return id.index() < orders_.order.size() ? orders_.order[id] : -1;
  }
  bool limit_reached() const {
    return options_.n_tensors >= 0 &&
           static_cast<int64_t>(plan_.swaps.size()) >= options_.n_tensors;
  }

  // Readers of a value, each once, by id.
  std::vector<NodeId> Readers(ValueId value) const {
    std::vector<NodeId> readers;
    for (const Use& use : graph_.uses(value)) readers.push_back(use.node);
    std::ranges::sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    return readers;
  }

  // Readers of a node's outputs, output by output.
  std::vector<NodeId> ReadersOf(NodeId node) const {
    std::vector<NodeId> readers;
    for (const ValueId output : graph_.node(node).outputs) {
      const std::vector<NodeId> some = Readers(output);
      readers.insert(readers.end(), some.begin(), some.end());
    }
    return readers;
  }

  // Those of them that are not gradient nodes.
  std::vector<NodeId> ForwardReaders(NodeId node) const {
    std::vector<NodeId> readers = ReadersOf(node);
    std::erase_if(readers, [&](NodeId reader) { return is_gradient(reader); });
    return readers;
  }

  bool HasReaders(NodeId node) const {
    return std::ranges::any_of(graph_.node(node).outputs, [&](ValueId output) {
      return !graph_.uses(output).empty();
    });
  }

  bool MayMove(const Node& node) const {
    if (node.op == kSwapOut || node.op == kSwapIn) return false;
    if (std::ranges::find(kNeverSources, node.op) != kNeverSources.end()) {
      return false;
    }
    return options_.compat || node.op != kVariable;
  }

  void VisitNode(NodeId id) {
    if (!MayMove(graph_.node(id))) return;
    const std::vector<ValueId> outputs = graph_.node(id).outputs;
    for (const ValueId value : outputs) {
      if (limit_reached()) return;
      VisitValue(id, value);
    }
  }

  void VisitValue(NodeId producer, ValueId value) {
    std::vector<NodeId> readers = Readers(value);
    std::erase_if(readers, [&](NodeId reader) {
      return !is_gradient(reader) || !HasReaders(reader);
    });
    if (readers.empty()) return;
    if (graph_.type(value).num_bytes() < options_.size_threshold_bytes) {
      Drop(value, "smaller than the size threshold");
      return;
    }
    std::vector<NodeId> timed = readers;
    std::erase_if(timed, [&](NodeId reader) { return order(reader) < 0; });
    if (!timed.empty()) {
      if (options_.compat) {
        SwapAsOriginal(producer, value, timed);
      } else {
        SwapWithGap(producer, value, timed);
      }
    }
    if (is_gradient(producer)) return;
    for (const NodeId reader : readers) {
      if (order(reader) < 0) VisitSourcesBehind(reader);
    }
  }

  void Drop(ValueId value, std::string reason) {
    plan_.dropped.push_back({.value = value, .reason = std::move(reason)});
  }

  // The original's way: every timed reader gets a swap-in, triggered or not.
  void SwapAsOriginal(NodeId producer, ValueId value,
                      const std::vector<NodeId>& readers) {
    Swap swap{.value = value};
    const NodeId swap_out = AddSwapOut(value, graph_);
    for (const NodeId reader : readers) {
      SwapIn swap_in{.readers = {reader}};
      AddSwapIn(value, swap_out, swap_in, graph_);
      const NodeId added(graph_.num_nodes() - 1);
      const NodeId trigger = FindTrigger(producer, reader);
      if (trigger.is_valid()) {
        swap_in.triggers = {trigger};
        graph_.AddControlEdge(trigger, added);
      }
      swap.swap_ins.push_back(std::move(swap_in));
    }
    plan_.swaps.push_back(std::move(swap));
  }

  // Ours: a reader moves to a swap-in only if its trigger comes after the last
  // reader of the device copy.
  void SwapWithGap(NodeId producer, ValueId value,
                   const std::vector<NodeId>& readers) {
    std::vector<SwapIn> moved;
    int32_t stays_until = levels_[producer];
    for (const NodeId reader : Readers(value)) {
      if (std::ranges::find(readers, reader) == readers.end()) {
        stays_until = std::max(stays_until, Level(reader));
      }
    }
    for (const NodeId reader : readers) {
      const NodeId trigger = FindTrigger(producer, reader);
      if (trigger.is_valid()) {
        moved.push_back({.readers = {reader}, .triggers = {trigger}});
      } else {
        stays_until = std::max(stays_until, Level(reader));
        Drop(value, fmt::format("no trigger for {}", graph_.node(reader).name));
      }
    }
    KeepUsefulGaps(value, stays_until, moved);
    if (moved.empty()) return;
    const NodeId swap_out = AddSwapOut(value, graph_);
    for (const SwapIn& swap_in : moved) {
      AddSwapIn(value, swap_out, swap_in, graph_);
    }
    Swap swap{.value = value};
    swap.swap_ins = std::move(moved);
    plan_.swaps.push_back(std::move(swap));
  }

  // A reader whose trigger is not later than the last direct reader reads the
  // device copy itself, which may take the gap from others: earliest first.
  void KeepUsefulGaps(ValueId value, int32_t stays_until,
                      std::vector<SwapIn>& moved) {
    const auto trigger_level = [&](const SwapIn& swap_in) {
      return Level(swap_in.triggers[0]);
    };
    std::ranges::stable_sort(moved, {}, trigger_level);
    while (!moved.empty() && trigger_level(moved.front()) <= stays_until) {
      const NodeId reader = moved.front().readers[0];
      Drop(value,
           fmt::format("no useful gap before {}", graph_.node(reader).name));
      stays_until = std::max(stays_until, Level(reader));
      moved.erase(moved.begin());
    }
  }

  int32_t Level(NodeId id) const {
    return id.index() < levels_.size() ? levels_[id] : 0;
  }

  // A gradient node of unknown order may run at once, so what it computes is
  // swapped instead: the nodes behind it that have a reader in the timed part
  // of the backward phase.
  void VisitSourcesBehind(NodeId start) {
    std::vector<NodeId> sources;
    std::vector<bool> met(graph_.num_nodes(), false);
    std::deque<NodeId> queue = {start};
    met[start.index()] = true;
    while (!queue.empty()) {
      const NodeId id = queue.front();
      queue.pop_front();
      bool is_source = false;
      for (const NodeId reader : ReadersOf(id)) {
        if (order(reader) > orders_.backward_start) {
          is_source = true;
        } else if (!met[reader.index()]) {
          met[reader.index()] = true;
          queue.push_back(reader);
        }
      }
      if (is_source) sources.push_back(id);
    }
    for (const NodeId source : sources) VisitNode(source);
  }

  NodeId FindTrigger(NodeId forward, NodeId reader) const {
    int64_t lb = options_.lb;
    if (order(reader) - lb <= order(forward)) lb = 1;
    if (is_gradient(forward) ||
        options_.ctrld_strategy == ControlStrategy::kDirectOrder) {
      return DirectOrder(forward, reader, lb);
    }
    return ChainRule(forward, reader, lb);
  }

  bool IsConditional(NodeId id) const {
    return graph_.node(id).name.find("/cond/") != std::string::npos;
  }

  // Gradient readers of forward nodes `lb` or more steps ahead of `forward`:
  // the first depth that has any, there the latest.
  NodeId ChainRule(NodeId forward, NodeId reader, int64_t lb) const {
    if (order(reader) - lb < orders_.backward_start) {
      return DirectOrder(forward, reader, lb);
    }
    if (lb > options_.ub) return {};
    std::vector<bool> closed(graph_.num_nodes(), false);
    std::vector<NodeId> layer = {forward};
    closed[forward.index()] = true;
    for (int64_t depth = 0; depth < options_.ub && !layer.empty(); ++depth) {
      if (depth >= lb) {
        const NodeId best = LatestPartner(layer, forward, reader);
        if (best.is_valid()) return best;
      }
      std::vector<NodeId> next;
      for (const NodeId id : layer) {
        for (const NodeId ahead : ForwardReaders(id)) {
          if (closed[ahead.index()]) continue;
          closed[ahead.index()] = true;
          next.push_back(ahead);
        }
      }
      layer = std::move(next);
    }
    return {};
  }

  // Of the gradient readers of `layer` between the two orders, the one of the
  // largest order, then of the lowest id.
  NodeId LatestPartner(const std::vector<NodeId>& layer, NodeId forward,
                       NodeId reader) const {
    NodeId best;
    for (const NodeId id : layer) {
      for (const NodeId partner : ReadersOf(id)) {
        if (!is_gradient(partner) || order(partner) <= order(forward) ||
            order(partner) >= order(reader) || IsConditional(partner)) {
          continue;
        }
        const auto rank = std::pair(-order(partner), partner);
        if (!best.is_valid() || rank < std::pair(-order(best), best)) {
          best = partner;
        }
      }
    }
    return best;
  }

  // The nearest order at least lb + 1 before the reader that has a node from
  // which data flows to the reader.
  NodeId DirectOrder(NodeId forward, NodeId reader, int64_t lb) const {
    const int64_t nearest = order(reader) - lb - 1;
    const int64_t farthest =
        std::max<int64_t>(order(reader) - options_.ub, order(forward)) + 1;
    if (nearest < farthest) return {};
    const std::vector<bool> reaches = Ancestors(reader);
    for (int64_t i = nearest; i >= farthest; --i) {
      for (const NodeId id : orders_.nodes_of_order[static_cast<size_t>(i)]) {
        if (reaches[id.index()] && !IsConditional(id)) return id;
      }
    }
    return {};
  }

  std::vector<bool> Ancestors(NodeId start) const {
    std::vector<bool> met(graph_.num_nodes(), false);
    std::vector<NodeId> frontier = {start};
    met[start.index()] = true;
    while (!frontier.empty()) {
      const NodeId id = frontier.back();
      frontier.pop_back();
      for (const ValueId input : graph_.node(id).inputs) {
        const NodeId producer = graph_.value(input).producer;
        if (met[producer.index()]) continue;
        met[producer.index()] = true;
        frontier.push_back(producer);
      }
    }
    return met;
  }

  const LmsOptions& options_;
  Graph graph_;  // a copy, edited while planning as the original does
  const V1Orders orders_;
  const IdMap<NodeId, int32_t> levels_;
  SwapPlan plan_;
};

}  // namespace

absl::StatusOr<SwapPlan> PlanSwapsV1(const LmsOptions& options,
                                     const Graph& graph) {
  ASSIGN_OR_RETURN(V1Orders orders, FindV1Orders(options, graph));
  ASSIGN_OR_RETURN(auto levels, Levels(graph));
  return Planner(options, graph, std::move(orders), std::move(levels)).Run();
}

}  // namespace spillway
