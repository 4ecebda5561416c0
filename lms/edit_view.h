// EditView: a graph as it will be with some swaps and control edges, without
// copying it. Knows edges only, no names: planning asks for nothing else, and
// a graph of a million nodes is dear to copy.
//
// Swap nodes have the ids that ApplySwapPlan will give them: after all nodes of
// the graph, each swap-out before its swap-ins. Aliases that are made again
// (SwapIn::aliases) are left out: their readers read the swap-in.
#ifndef SPILLWAY_LMS_EDIT_VIEW_H_
#define SPILLWAY_LMS_EDIT_VIEW_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "lms/swap_plan.h"

namespace spillway {

class EditView {
 public:
  // `graph` is borrowed.
  explicit EditView(const Graph& graph);

  // Adds the swaps, once, without their triggers and waiters. The readers of
  // `swaps` are borrowed.
  void AddSwaps(const std::vector<Swap>& swaps);
  void AddControlEdge(NodeId before, NodeId after);

  const Graph& graph() const { return graph_; }
  size_t num_nodes() const { return num_originals_ + swap_nodes_.size(); }
  bool IsSwap(NodeId id) const { return id.index() >= num_originals_; }
  bool IsSwapIn(NodeId id) const {
    return IsSwap(id) && SwapNodeOf(id).readers != nullptr;
  }
  // The value of the graph that a swap node copies.
  ValueId ValueOf(NodeId swap) const { return SwapNodeOf(swap).value; }

  // Calls visit(NodeId) for each edge, as graph/traverse.h does.
  template <typename Visit>
  void ForEachProducer(NodeId id, Visit visit) const;
  template <typename Visit>
  void ForEachReader(NodeId id, Visit visit) const;
  template <typename Visit>
  void ForEachPredecessor(NodeId id, Visit visit) const;
  template <typename Visit>
  void ForEachSuccessor(NodeId id, Visit visit) const;

 private:
  struct SwapNode {
    ValueId value = {};
    NodeId swap_out = {};                          // itself, of a swap-out
    int32_t num_swap_ins = 0;                      // of a swap-out
    const std::vector<NodeId>* readers = nullptr;  // of a swap-in
  };
  // Added control edges are kept in two lists a node.
  struct Edge {
    NodeId before = {};
    NodeId after = {};
    int32_t next_of_before = -1;
    int32_t next_of_after = -1;
  };

  const SwapNode& SwapNodeOf(NodeId id) const {
    return swap_nodes_[id.index() - num_originals_];
  }
  void RerouteReaders(ValueId value, const SwapIn& swap_in, NodeId copy);
  // The swap-in that a slot reads instead of its value; invalid: none.
  NodeId CopyAt(NodeId id, size_t slot) const {
    return copy_at_.empty()
               ? NodeId()
               : copy_at_[static_cast<size_t>(first_slot_[id]) + slot];
  }

  const Graph& graph_;
  const size_t num_originals_;
  std::vector<SwapNode> swap_nodes_;
  IdMap<ValueId, NodeId> swap_out_of_;
  IdMap<NodeId, int32_t> first_slot_;  // in copy_at_
  std::vector<NodeId> copy_at_;
  std::vector<Edge> edges_;
  IdMap<NodeId, int32_t> first_after_;  // in edges_, -1: none
  IdMap<NodeId, int32_t> first_before_;
};

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
    const NodeId copy = CopyAt(id, slot);
    visit(copy.is_valid() ? copy : graph_.value(inputs[slot]).producer);
  }
}

template <typename Visit>
void EditView::ForEachReader(NodeId id, Visit visit) const {
  if (IsSwap(id)) {
    const SwapNode& node = SwapNodeOf(id);
    for (int32_t i = 1; i <= node.num_swap_ins; ++i) {
      visit(NodeId(id.value() + i));
    }
    if (node.readers == nullptr) return;
    for (const NodeId reader : *node.readers) visit(reader);
    return;
  }
  for (const ValueId output : graph_.node(id).outputs) {
    for (const Use& use : graph_.uses(output)) {
      const NodeId copy = CopyAt(use.node, static_cast<size_t>(use.slot));
      if (!copy.is_valid()) visit(use.node);
    }
    if (!swap_out_of_.empty() && swap_out_of_[output].is_valid()) {
      visit(swap_out_of_[output]);
    }
  }
}

template <typename Visit>
void EditView::ForEachPredecessor(NodeId id, Visit visit) const {
  ForEachProducer(id, visit);
  if (!IsSwap(id)) {
    for (const NodeId before : graph_.node(id).control_inputs) visit(before);
  }
  for (int32_t at = first_before_[id]; at >= 0;) {
    const Edge& edge = edges_[static_cast<size_t>(at)];
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
    const Edge& edge = edges_[static_cast<size_t>(at)];
    visit(edge.after);
    at = edge.next_of_before;
  }
}

}  // namespace spillway

#endif  // SPILLWAY_LMS_EDIT_VIEW_H_
