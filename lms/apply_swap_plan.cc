#include "lms/apply_swap_plan.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/types_of.h"
#include "graph/well_known_ops.h"
#include "lms/added_nodes.h"

namespace spillway {
namespace {

NodeId AddSwapOut(ValueId value, Graph& graph) {
  return graph.AddNode(
      {.name = AddedName("lms/swapout_", graph.ValueName(value), graph),
       .op = std::string(kSwapOut),
       .inputs = {value},
       .outputs = {graph.type(value)},
       .placement = Placement::kHost});
}

// An alias as it was before the edit.
struct Alias {
  NodeSpec spec = {};
  std::vector<ValueId> outputs = {};
};

// The aliases of all swap-ins, in the order of the plan.
std::vector<Alias> FindAliases(const SwapPlan& plan, const Graph& graph) {
  std::vector<Alias> aliases;
  for (const Swap& swap : plan.swaps) {
    for (const SwapIn& swap_in : swap.swap_ins) {
      for (const NodeId id : swap_in.aliases) {
        const Node& node = graph.node(id);
        aliases.push_back({.spec = {.name = node.name,
                                    .op = node.op,
                                    .inputs = node.inputs,
                                    .outputs = TypesOf(graph, node.outputs),
                                    .attributes = node.attributes,
                                    .placement = node.placement,
                                    .cost = node.cost},
                           .outputs = node.outputs});
      }
    }
  }
  return aliases;
}

// Recreates `aliases` of `value` from `copy`.
void AddAliases(ValueId value, ValueId copy, const SwapIn& swap_in,
                std::span<Alias> aliases, Graph& graph) {
  std::map<ValueId, ValueId> copies = {{value, copy}};
  for (Alias& alias : aliases) {
    for (ValueId& input : alias.spec.inputs) {
      const auto found = copies.find(input);
      if (found != copies.end()) input = found->second;
    }
    alias.spec.name = AddedName("lms/alias_", alias.spec.name, graph);
    const NodeId id = graph.AddNode(std::move(alias.spec));
    for (size_t i = 0; i < alias.outputs.size(); ++i) {
      const ValueId output = graph.output(id, static_cast<int>(i));
      copies.emplace(alias.outputs[i], output);
      Reroute(swap_in.readers, alias.outputs[i], output, graph);
    }
  }
}

NodeId AddSwapIn(ValueId value, NodeId swap_out, const SwapIn& swap_in,
                 Graph& graph) {
  const NodeId node = graph.AddNode(
      {.name = AddedName("lms/swapin_", graph.ValueName(value), graph),
       .op = std::string(kSwapIn),
       .inputs = {graph.output(swap_out)},
       .outputs = {graph.type(value)},
       .placement = Placement::kHost});
  for (const NodeId trigger : swap_in.triggers) {
    graph.AddControlEdge(trigger, node);
  }
  Reroute(swap_in.readers, value, graph.output(node), graph);
  return node;
}

}  // namespace

absl::Status CheckIds(const SwapPlan& plan, const Graph& graph) {
  const auto is_node = [&](NodeId id) {
    return id.is_valid() && id.index() < graph.num_nodes();
  };
  const auto are_nodes = [&](const std::vector<NodeId>& ids) {
    return std::ranges::all_of(ids, is_node);
  };
  const auto is_swap_in = [&](const SwapIn& swap_in) {
    return are_nodes(swap_in.readers) && are_nodes(swap_in.triggers) &&
           are_nodes(swap_in.aliases);
  };
  const auto is_swap = [&](const Swap& swap) {
    return swap.value.is_valid() && swap.value.index() < graph.num_values() &&
           are_nodes(swap.waiters) &&
           std::ranges::all_of(swap.swap_ins, is_swap_in);
  };
  const auto is_order = [&](const AddedOrder& order) {
    return is_node(order.before) && is_node(order.after) &&
           order.before != order.after;
  };
  if (std::ranges::all_of(plan.swaps, is_swap) &&
      std::ranges::all_of(plan.orders, is_order)) {
    return absl::OkStatus();
  }
  return InvalidArgument(fmt::format(
      "the swaps do not belong to {}: they name nodes or values that it lacks",
      graph.name()));
}

void ApplySwapPlan(const SwapPlan& plan, Graph& graph) {
  std::vector<Alias> aliases = FindAliases(plan, graph);
  std::vector<ValueId> copies;  // by swap-in
  for (const Swap& swap : plan.swaps) {
    const NodeId swap_out = AddSwapOut(swap.value, graph);
    for (const SwapIn& swap_in : swap.swap_ins) {
      copies.push_back(
          graph.output(AddSwapIn(swap.value, swap_out, swap_in, graph)));
    }
    for (const NodeId waiter : swap.waiters) {
      graph.AddControlEdge(swap_out, waiter);
    }
  }
  for (const AddedOrder& order : plan.orders) {
    graph.AddControlEdge(order.before, order.after);
  }
  size_t next_copy = 0;
  std::span<Alias> rest(aliases);
  for (const Swap& swap : plan.swaps) {
    for (const SwapIn& swap_in : swap.swap_ins) {
      AddAliases(swap.value, copies[next_copy++], swap_in,
                 rest.first(swap_in.aliases.size()), graph);
      rest = rest.subspan(swap_in.aliases.size());
    }
  }
}

}  // namespace spillway
