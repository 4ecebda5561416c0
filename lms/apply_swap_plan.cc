#include "lms/apply_swap_plan.h"

#include <algorithm>
#include <string>
#include <string_view>

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

}  // namespace

NodeId AddSwapOut(ValueId value, Graph& graph) {
  return graph.AddNode({.name = SwapName("lms/swapout_", value, graph),
                        .op = std::string(kSwapOut),
                        .inputs = {value},
                        .outputs = {graph.type(value)},
                        .placement = Placement::kHost});
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
    const std::vector<ValueId>& inputs = graph.node(reader).inputs;
    for (size_t slot = 0; slot < inputs.size(); ++slot) {
      if (inputs[slot] == value) {
        graph.SetInput({reader, static_cast<int32_t>(slot)},
                       graph.output(node));
      }
    }
  }
}

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
