// A topological order of a graph to which control edges are added. It tells
// whether the next edge would close a cycle.
//
// Cost: O(1) for an edge that goes forward in the order; else proportional to
// the edges of the nodes between its ends that depend on one of them.
// Source: Pearce and Kelly, "A dynamic topological sort algorithm for directed
// acyclic graphs", Journal of Experimental Algorithmics 11 (2006).
#ifndef SPILLWAY_LMS_INCREMENTAL_ORDER_H_
#define SPILLWAY_LMS_INCREMENTAL_ORDER_H_

#include <cstdint>
#include <vector>

#include "lms/edit_view.h"

namespace spillway {

class IncrementalOrder {
 public:
  // `levels` are those of the view's graph (graph/order/schedule.h), which rise
  // along its edges; the view has no control edges yet (both CHECKed). The view
  // is borrowed; its owner adds the edges that were allowed.
  IncrementalOrder(const EditView& view, const IdMap<NodeId, int32_t>& levels);

  // Whether a path leads from `after` to `before`, so that the edge before ->
  // after would close a cycle. If not, the order is updated to allow the edge.
  bool ClosesCycle(NodeId before, NodeId after);

 private:
  // Collects nodes after `start` up to the place `last`; false if `target` is
  // one of them.
  bool WalkForward(NodeId start, int32_t last, NodeId target);
  // Collects nodes before `start` down to the place `first`.
  void WalkBackward(NodeId start, int32_t first);
  void Reorder();

  const EditView& view_;
  IdMap<NodeId, int32_t> place_;
  IdMap<NodeId, bool> met_;
  std::vector<NodeId> behind_;
  std::vector<NodeId> before_;
};

}  // namespace spillway

#endif  // SPILLWAY_LMS_INCREMENTAL_ORDER_H_
