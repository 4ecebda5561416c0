#include "lms/drop_cycles.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lms/edit_view.h"
#include "lms/incremental_order.h"

namespace spillway {
namespace {

// Levels rise along every edge of the graph; if this holds, along every edge of
// the edited graph too.
bool TriggersRise(const IdMap<NodeId, int32_t>& levels, const Swap& swap) {
  return std::ranges::all_of(swap.swap_ins, [&](const SwapIn& swap_in) {
    return std::ranges::all_of(swap_in.triggers, [&](NodeId trigger) {
      return std::ranges::all_of(swap_in.readers, [&](NodeId reader) {
        return levels[trigger] < levels[reader];
      });
    });
  });
}

// Adds the triggers of a swap to the view; adds none if one would close a
// cycle.
bool AddTriggers(const Swap& swap, NodeId swap_out, IncrementalOrder& order,
                 EditView& view) {
  NodeId node = swap_out;
  for (const SwapIn& swap_in : swap.swap_ins) {
    node = NodeId(node.value() + 1);
    for (const NodeId trigger : swap_in.triggers) {
      if (!order.ClosesCycle(trigger, node)) {
        view.AddControlEdge(trigger, node);
        continue;
      }
      for (NodeId added = swap_out; added <= node;
           added = NodeId(added.value() + 1)) {
        view.RemoveControlEdgesTo(added);
      }
      return false;
    }
  }
  return true;
}

}  // namespace

int DropCycles(const Graph& graph, const IdMap<NodeId, int32_t>& levels,
               SwapPlan& plan) {
  const auto rise = [&](const Swap& swap) {
    return TriggersRise(levels, swap);
  };
  if (std::ranges::all_of(plan.swaps, rise)) return 0;
  EditView view(graph);
  view.AddSwaps(plan.swaps);
  IncrementalOrder order(view, levels);
  std::vector<Swap> kept;
  int dropped = 0;
  size_t next = graph.num_nodes();
  for (Swap& swap : plan.swaps) {
    const NodeId swap_out(next);
    next += 1 + swap.swap_ins.size();
    if (AddTriggers(swap, swap_out, order, view)) {
      kept.push_back(std::move(swap));
    } else {
      plan.dropped.push_back(
          {.value = swap.value, .reason = "a trigger would close a cycle"});
      ++dropped;
    }
  }
  plan.swaps = std::move(kept);
  return dropped;
}

}  // namespace spillway
