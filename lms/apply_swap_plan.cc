#include "lms/apply_swap_plan.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// "lms/swapout_" + "conv1/Relu:0" -> "lms/swapout_conv1_Relu_0"
std::string SwapName(std::string_view prefix, ValueId value,
                     const Graph& graph) {
  std::string tensor = graph.ValueName(value);
  std::ranges::replace(tensor, '/', '_');
  std::ranges::replace(tensor, ':', '_');
  return graph.UniqueName(std::string(prefix) + tensor);
}

NodeId AddSwapOut(ValueId value, Graph& graph) {
  return graph.AddNode({.name = SwapName("lms/swapout_", value, graph),
                        .op = std::string(kSwapOut),
                        .inputs = {value},
                        .outputs = {graph.type(value)},
                        .placement = Placement::kHost});
}

// The slots of `reader` that read `value`.
std::vector<Use> UsesBy(NodeId reader, ValueId value, const Graph& graph) {
  const std::vector<Use>& uses = graph.uses(value);
  const auto found =
      std::ranges::equal_range(uses, reader, std::ranges::less(), &Use::node);
  return {found.begin(), found.end()};
}

void AddSwapIn(ValueId value, NodeId swap_out, const SwapIn& swap_in,
               Graph& graph) {
  const NodeId node =
      graph.AddNode({.name = SwapName("lms/swapin_", value, graph),
                     .op = std::string(kSwapIn),
                     .inputs = {graph.output(swap_out)},
                     .outputs = {graph.type(value)},
                     .placement = Placement::kHost});
  for (const NodeId trigger : swap_in.triggers) {
    graph.AddControlEdge(trigger, node);
  }
  for (const NodeId reader : swap_in.readers) {
    for (const Use& use : UsesBy(reader, value, graph)) {
      graph.SetInput(use, graph.output(node));
    }
  }
}

}  // namespace

void ApplySwapPlan(const SwapPlan& plan, Graph& graph) {
  for (const Swap& swap : plan.swaps) {
    const NodeId swap_out = AddSwapOut(swap.value, graph);
    for (const SwapIn& swap_in : swap.swap_ins) {
      AddSwapIn(swap.value, swap_out, swap_in, graph);
    }
    for (const NodeId waiter : swap.waiters) {
      graph.AddControlEdge(swap_out, waiter);
    }
  }
  for (const AddedOrder& order : plan.orders) {
    graph.AddControlEdge(order.before, order.after);
  }
}

}  // namespace spillway
