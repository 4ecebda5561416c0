#include "lms/v1/data_flow.h"

#include <algorithm>

#include "graph/traverse.h"

namespace spillway {

DataFlow::DataFlow(const Graph& graph)
    : graph_(graph), edited_at_(graph.num_values(), -1) {
  begin_.reserve(graph.num_values() + 1);
  for (size_t i = 0; i < graph.num_values(); ++i) {
    begin_.push_back(readers_.size());
    spillway::ForEachReader(graph, ValueId(i), [this](NodeId reader) {
      readers_.push_back(reader);
    });
  }
  begin_.push_back(readers_.size());
}

std::span<const ValueId> DataFlow::outputs(NodeId id) const {
  if (!is_added(id)) return graph_.node(id).outputs;
  return std::span(added_).subspan(id.index() - graph_.num_nodes(), 1);
}

std::span<const NodeId> DataFlow::readers(ValueId value) const {
  const int32_t edited_at = edited_at_[value];
  if (edited_at >= 0) return edited_[static_cast<size_t>(edited_at)];
  const size_t begin = begin_[value];
  const size_t end = begin_[ValueId(value.index() + 1)];
  return std::span(readers_).subspan(begin, end - begin);
}

NodeId DataFlow::AddSwapOut(ValueId value) {
  const NodeId swap_out = AddNode();
  Edit(value).push_back(swap_out);
  return swap_out;
}

NodeId DataFlow::AddSwapIn(NodeId swap_out, ValueId value,
                           std::span<const NodeId> moved) {
  const NodeId swap_in = AddNode();
  Edit(outputs(swap_out)[0]).push_back(swap_in);
  std::erase_if(Edit(value), [&](NodeId reader) {
    return std::ranges::binary_search(moved, reader);
  });
  Edit(outputs(swap_in)[0]).assign(moved.begin(), moved.end());
  return swap_in;
}

// The readers of `value`, to be changed.
std::vector<NodeId>& DataFlow::Edit(ValueId value) {
  if (edited_at_[value] < 0) {
    const std::span<const NodeId> before = readers(value);
    edited_.emplace_back(before.begin(), before.end());
    edited_at_[value] = static_cast<int32_t>(edited_.size() - 1);
  }
  return edited_[static_cast<size_t>(edited_at_[value])];
}

NodeId DataFlow::AddNode() {
  added_.emplace_back(edited_at_.size());
  edited_at_.push_back(static_cast<int32_t>(edited_.size()));
  edited_.emplace_back();
  return NodeId(num_nodes() - 1);
}

}  // namespace spillway
