#include "lms/edit_view.h"

#include <algorithm>

namespace spillway {

EditView::EditView(const Graph& graph)
    : graph_(graph),
      num_originals_(graph.num_nodes()),
      first_after_(graph.num_nodes(), -1),
      first_before_(graph.num_nodes(), -1) {}

void EditView::AddSwaps(const std::vector<Swap>& swaps) {
  swap_out_of_.resize(graph_.num_values());
  first_slot_.resize(num_originals_);
  int32_t num_slots = 0;
  for (const Node& node : graph_.nodes()) {
    first_slot_[node.id] = num_slots;
    num_slots += static_cast<int32_t>(node.inputs.size());
  }
  copy_at_.resize(static_cast<size_t>(num_slots));
  for (const Swap& swap : swaps) {
    const NodeId swap_out(num_nodes());
    swap_out_of_[swap.value] = swap_out;
    swap_nodes_.push_back(
        {.value = swap.value,
         .swap_out = swap_out,
         .num_swap_ins = static_cast<int32_t>(swap.swap_ins.size())});
    for (const SwapIn& swap_in : swap.swap_ins) {
      RerouteReaders(swap.value, swap_in, NodeId(num_nodes()));
      swap_nodes_.push_back({.value = swap.value,
                             .swap_out = swap_out,
                             .readers = &swap_in.readers});
    }
  }
  first_after_.resize(num_nodes(), -1);
  first_before_.resize(num_nodes(), -1);
}

void EditView::RerouteReaders(ValueId value, const SwapIn& swap_in,
                              NodeId copy) {
  const std::vector<NodeId>& aliases = swap_in.aliases;
  const auto is_name = [&](ValueId input) {
    return input == value ||
           (!aliases.empty() &&
            std::ranges::find(aliases, graph_.value(input).producer) !=
                aliases.end());
  };
  for (const NodeId reader : swap_in.readers) {
    const std::vector<ValueId>& inputs = graph_.node(reader).inputs;
    for (size_t slot = 0; slot < inputs.size(); ++slot) {
      if (!is_name(inputs[slot])) continue;
      copy_at_[static_cast<size_t>(first_slot_[reader]) + slot] = copy;
    }
  }
}

void EditView::AddControlEdge(NodeId before, NodeId after) {
  const auto at = static_cast<int32_t>(edges_.size());
  edges_.push_back({.before = before,
                    .after = after,
                    .next_of_before = first_after_[before],
                    .next_of_after = first_before_[after]});
  first_after_[before] = at;
  first_before_[after] = at;
}

}  // namespace spillway
