#include "lms/edit_view.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "graph/traverse.h"

namespace spillway {

EditView::EditView(const Graph& graph)
    : graph_(graph),
      num_originals_(graph.num_nodes()),
      places_(graph.num_values()),
      first_rerouted_(graph.num_nodes(), -1),
      first_after_(graph.num_nodes(), -1),
      first_before_(graph.num_nodes(), -1) {
  for (const ValueId value : graph.values().ids()) {
    Interval& place = places_[value];
    place.begin = static_cast<int64_t>(readers_.size());
    spillway::ForEachReader(
        graph, value, [this](NodeId reader) { readers_.push_back(reader); });
    place.end = static_cast<int64_t>(readers_.size());
  }
}

NodeId EditView::AddSwapOut(ValueId value) {
  if (swap_out_of_.empty()) swap_out_of_.resize(graph_.num_values());
  SPILLWAY_CHECK(!swap_out_of_[value].is_valid());
  swap_out_of_[value] = NodeId(num_nodes());
  return AddNode({.value = value, .swap_out = swap_out_of_[value]});
}

NodeId EditView::AddSwapIn(NodeId swap_out, const SwapIn& swap_in) {
  const ValueId value = ValueOf(swap_out);
  std::vector<NodeId> moved = swap_in.readers;
  std::ranges::sort(moved);
  RemoveReaders(value, moved);
  for (const NodeId alias : swap_in.aliases) {
    for (const ValueId name : graph_.node(alias).outputs) {
      RemoveReaders(name, moved);
    }
  }
  const NodeId copy(num_nodes());
  for (const NodeId reader : moved) Reroute(reader, value, swap_in, copy);
  SwapNodeOf(swap_out).readers.push_back(copy);
  return AddNode(
      {.value = value, .swap_out = swap_out, .readers = std::move(moved)});
}

void EditView::AddSwaps(const std::vector<Swap>& swaps) {
  for (const Swap& swap : swaps) {
    const NodeId swap_out = AddSwapOut(swap.value);
    for (const SwapIn& swap_in : swap.swap_ins) AddSwapIn(swap_out, swap_in);
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

void EditView::RemoveControlEdgesTo(NodeId after) {
  for (int32_t at = std::exchange(first_before_[after], -1); at >= 0;) {
    const ControlEdge& edge = edges_[static_cast<size_t>(at)];
    int32_t* link = &first_after_[edge.before];
    while (*link != at) {
      link = &edges_[static_cast<size_t>(*link)].next_of_before;
    }
    *link = edge.next_of_before;
    at = edge.next_of_after;
  }
}

bool EditView::HasReaders(NodeId id) const {
  if (IsSwap(id)) return !SwapNodeOf(id).readers.empty();
  return std::ranges::any_of(graph_.node(id).outputs, [&](ValueId output) {
    return !ReadersOf(output).empty() || SwapOutOf(output).is_valid();
  });
}

NodeId EditView::AddNode(SwapNode node) {
  swap_nodes_.push_back(std::move(node));
  first_after_.push_back(-1);
  first_before_.push_back(-1);
  return NodeId(num_nodes() - 1);
}

void EditView::RemoveReaders(ValueId value,
                             const std::vector<NodeId>& readers) {
  Interval& place = places_[value];
  const auto begin = readers_.begin() + place.begin;
  const auto end = readers_.begin() + place.end;
  const auto kept = std::remove_if(begin, end, [&](NodeId reader) {
    return std::ranges::binary_search(readers, reader);
  });
  place.end -= end - kept;
}

void EditView::Reroute(NodeId reader, ValueId value, const SwapIn& swap_in,
                       NodeId copy) {
  const auto is_copied = [&](ValueId input) {
    return input == value ||
           std::ranges::find(swap_in.aliases, graph_.value(input).producer) !=
               swap_in.aliases.end();
  };
  const std::vector<ValueId>& inputs = graph_.node(reader).inputs;
  for (size_t slot = 0; slot < inputs.size(); ++slot) {
    if (!is_copied(inputs[slot])) continue;
    const auto at = static_cast<int32_t>(rerouted_.size());
    rerouted_.push_back(
        {.slot = slot, .swap_in = copy, .next = first_rerouted_[reader]});
    first_rerouted_[reader] = at;
  }
}

NodeId EditView::SwapInAt(NodeId id, size_t slot) const {
  for (int32_t at = first_rerouted_[id]; at >= 0;) {
    const Rerouted& rerouted = rerouted_[static_cast<size_t>(at)];
    if (rerouted.slot == slot) return rerouted.swap_in;
    at = rerouted.next;
  }
  return {};
}

}  // namespace spillway
