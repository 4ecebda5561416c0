// EditView: shows a graph with some added swaps and control edges, without
// copying it. It has edges only, no names: planning needs nothing else, and a
// graph of a million nodes is expensive to copy.
//
// Nodes of the graph keep their ids. Swap nodes follow in the order in which
// they are added; AddSwaps gives them the ids that ApplySwapPlan will give
// them. Aliases that are recreated (SwapIn::aliases) are left out: their
// readers read the swap-in. Ownership: borrows the graph. Cost: O(edges) to
// construct; adding a swap costs O(readers of its value).
#ifndef SPILLWAY_LMS_EDIT_VIEW_H_
#define SPILLWAY_LMS_EDIT_VIEW_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/interval.h"
#include "graph/graph.h"
#include "lms/swap_plan.h"

namespace spillway {

class EditView {
 public:
  explicit EditView(const Graph& graph);

  // Adds a node that reads `value`; at most one for each value (CHECKed).
  NodeId AddSwapOut(ValueId value);
  // Adds a node that reads `swap_out`. swap_in.readers read the new node
  // instead of the value. Triggers are not added; add them as control edges.
  NodeId AddSwapIn(NodeId swap_out, const SwapIn& swap_in);
  // Adds each swap with its swap-ins, without triggers and waiters.
  void AddSwaps(const std::vector<Swap>& swaps);

  void AddControlEdge(NodeId before, NodeId after);
  // Removes the control edges to `after` that were added to the view.
  void RemoveControlEdgesTo(NodeId after);

  const Graph& graph() const { return graph_; }
  size_t num_nodes() const { return num_originals_ + swap_nodes_.size(); }
  bool IsSwap(NodeId id) const { return id.index() >= num_originals_; }
  bool IsSwapIn(NodeId id) const {
    return IsSwap(id) && SwapNodeOf(id).swap_out != id;
  }
  // The value of the graph that a swap node copies.
  ValueId ValueOf(NodeId swap) const { return SwapNodeOf(swap).value; }

  bool HasReaders(NodeId id) const;

  // Calls visit(NodeId) for the producer of each input, by slot.
  template <typename Visit>
  void ForEachProducer(NodeId id, Visit visit) const;
  // Calls visit(NodeId) for the readers of each output, once per output: nodes
  // of the graph by id, then the swap-out.
  template <typename Visit>
  void ForEachReader(NodeId id, Visit visit) const;
  // Also visits control edges; a node is visited once for each edge.
  template <typename Visit>
  void ForEachPredecessor(NodeId id, Visit visit) const;
  template <typename Visit>
  void ForEachSuccessor(NodeId id, Visit visit) const;

 private:
  struct SwapNode {
    ValueId value = {};
    NodeId swap_out = {};  // for a swap-out: its own id
    std::vector<NodeId> readers = {};
  };
  // A slot that reads a swap-in instead of its value; the slots of one node
  // form a linked list.
  struct Rerouted {
    size_t slot = 0;
    NodeId swap_in = {};
    int32_t next = -1;
  };
  // The edges from one node and the edges to one node form two linked lists.
  struct ControlEdge {
    NodeId before = {};
    NodeId after = {};
    int32_t next_of_before = -1;
    int32_t next_of_after = -1;
  };

  const SwapNode& SwapNodeOf(NodeId id) const {
    return swap_nodes_[id.index() - num_originals_];
  }
  SwapNode& SwapNodeOf(NodeId id) {
    return swap_nodes_[id.index() - num_originals_];
  }
  NodeId AddNode(SwapNode node);
  // The readers in the graph.
  std::span<const NodeId> ReadersOf(ValueId value) const;
  // `readers`: sorted by id.
  void RemoveReaders(ValueId value, const std::vector<NodeId>& readers);
  NodeId SwapOutOf(ValueId value) const {
    return swap_out_of_.empty() ? NodeId() : swap_out_of_[value];
  }
  void Reroute(NodeId reader, ValueId value, const SwapIn& swap_in,
               NodeId copy);
  // Invalid: the slot reads its value.
  NodeId SwapInAt(NodeId id, size_t slot) const;

  const Graph& graph_;
  const size_t num_originals_;
  std::vector<SwapNode> swap_nodes_;

  std::vector<NodeId> readers_;      // of value 0, of value 1, ...
  IdMap<ValueId, Interval> places_;  // in readers_
  IdMap<ValueId, NodeId> swap_out_of_;

  IdMap<NodeId, int32_t> first_rerouted_;  // in rerouted_, -1: none
  std::vector<Rerouted> rerouted_;

  std::vector<ControlEdge> edges_;
  IdMap<NodeId, int32_t> first_after_;  // in edges_, -1: none
  IdMap<NodeId, int32_t> first_before_;
};

inline std::span<const NodeId> EditView::ReadersOf(ValueId value) const {
  const Interval& place = places_[value];
  return {readers_.data() + place.begin, readers_.data() + place.end};
}

template <typename Visit>
void EditView::ForEachProducer(NodeId id, Visit visit) const {
  if (IsSwap(id)) {
    const SwapNode& node = SwapNodeOf(id);
    visit(node.swap_out == id ? graph_.value(node.value).producer
                              : node.swap_out);
    return;
  }
  const std::vector<ValueId>& inputs = graph_.node(id).inputs;
  for (size_t slot = 0; slot < inputs.size(); ++slot) {
    const NodeId swap_in = SwapInAt(id, slot);
    visit(swap_in.is_valid() ? swap_in : graph_.value(inputs[slot]).producer);
  }
}

template <typename Visit>
void EditView::ForEachReader(NodeId id, Visit visit) const {
  if (IsSwap(id)) {
    for (const NodeId reader : SwapNodeOf(id).readers) visit(reader);
    return;
  }
  for (const ValueId output : graph_.node(id).outputs) {
    for (const NodeId reader : ReadersOf(output)) visit(reader);
    const NodeId swap_out = SwapOutOf(output);
    if (swap_out.is_valid()) visit(swap_out);
  }
}

template <typename Visit>
void EditView::ForEachPredecessor(NodeId id, Visit visit) const {
  ForEachProducer(id, visit);
  if (!IsSwap(id)) {
    for (const NodeId before : graph_.node(id).control_inputs) visit(before);
  }
  for (int32_t at = first_before_[id]; at >= 0;) {
    const ControlEdge& edge = edges_[static_cast<size_t>(at)];
    visit(edge.before);
    at = edge.next_of_after;
  }
}

template <typename Visit>
void EditView::ForEachSuccessor(NodeId id, Visit visit) const {
  ForEachReader(id, visit);
  if (!IsSwap(id)) {
    for (const NodeId after : graph_.control_outputs(id)) visit(after);
  }
  for (int32_t at = first_after_[id]; at >= 0;) {
    const ControlEdge& edge = edges_[static_cast<size_t>(at)];
    visit(edge.after);
    at = edge.next_of_before;
  }
}

}  // namespace spillway

#endif  // SPILLWAY_LMS_EDIT_VIEW_H_
