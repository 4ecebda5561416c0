// A topological order, one node at a time: a node comes once all edges into it
// have arrived. The caller says where the edges lead, so any graph can be used:
//
//   TopologicalOrder<NodeId> order(CountEdgesInto(graph));
//   for (NodeId id = order.Next(); id.is_valid(); id = order.Next()) {
//     ForEachSuccessor(graph, id, [&](NodeId after) { order.Arrive(after); });
//   }
//
// Ties: the node that became ready first; among nodes without incoming edges,
// the lowest id. So nodes come by level, their longest distance from the nodes
// without incoming edges.
// Cycles: a node on a cycle, or reachable from one, never comes; it stays
// waiting.
// Cost: O(1) for each call, linear in nodes and edges for the whole order.
// Threads: none.
// Source: Kahn, Topological sorting of large networks, CACM 5 (11), 1962.
#ifndef SPILLWAY_BASE_TOPOLOGICAL_ORDER_H_
#define SPILLWAY_BASE_TOPOLOGICAL_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace spillway {

template <typename Id>
class TopologicalOrder {
 public:
  // `missing`: the number of edges into each node. To leave a node out, pass
  // one more than will arrive.
  explicit TopologicalOrder(IdMap<Id, int32_t> missing)
      : missing_(std::move(missing)) {
    ready_.reserve(missing_.size());
    for (const Id id : missing_.ids()) {
      if (missing_[id] == 0) ready_.push_back(id);
    }
  }

  // The next node; invalid when none is ready.
  Id Next() { return next_ < ready_.size() ? ready_[next_++] : Id(); }

  // One of the edges into `id` has arrived. `id` must be waiting.
  void Arrive(Id id) {
    if (--missing_[id] == 0) ready_.push_back(id);
  }

  bool is_waiting(Id id) const { return missing_[id] > 0; }
  // Whether no node is waiting.
  bool is_complete() const { return ready_.size() == missing_.size(); }

 private:
  IdMap<Id, int32_t> missing_;  // edges that have not arrived yet
  std::vector<Id> ready_;       // in the order in which they became ready
  size_t next_ = 0;             // place in `ready_`
};

}  // namespace spillway

#endif  // SPILLWAY_BASE_TOPOLOGICAL_ORDER_H_
