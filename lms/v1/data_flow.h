// Who reads what in a graph, as one can walk it while swaps are put in: the
// part of a graph that TFLMS version 1 looks at again after each of its edits.
// Much cheaper to copy and change than the graph itself.
//
// Ids: nodes and values of the graph keep theirs; added swap nodes, with one
// output each, are numbered on. Ownership: borrows the graph. Cost: O(edges) to
// make, then proportional to the readers of the values in question.
#ifndef SPILLWAY_LMS_V1_DATA_FLOW_H_
#define SPILLWAY_LMS_V1_DATA_FLOW_H_

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace spillway {

class DataFlow {
 public:
  explicit DataFlow(const Graph& graph);

  // Swap nodes included.
  size_t num_nodes() const { return graph_.num_nodes() + added_.size(); }
  bool is_added(NodeId id) const { return id.index() >= graph_.num_nodes(); }

  std::span<const ValueId> outputs(NodeId id) const;

  // Each once, by id.
  std::span<const NodeId> readers(ValueId value) const;

  // Calls visit(NodeId) for the readers of each output.
  template <typename Visit>
  void ForEachReader(NodeId id, Visit visit) const {
    for (const ValueId output : outputs(id)) {
      for (const NodeId reader : readers(output)) visit(reader);
    }
  }

  // A node that reads `value` too.
  NodeId AddSwapOut(ValueId value);
  // A node that reads `swap_out`, and that `moved` (by id), which read `value`,
  // read instead.
  NodeId AddSwapIn(NodeId swap_out, ValueId value,
                   std::span<const NodeId> moved);

 private:
  std::vector<NodeId>& Edit(ValueId value);
  NodeId AddNode();

  const Graph& graph_;
  std::vector<NodeId> readers_;        // of value 0, of value 1, ...
  IdMap<ValueId, size_t> begin_;       // and where; one more than values
  IdMap<ValueId, int32_t> edited_at_;  // place in edited_, or -1
  std::vector<std::vector<NodeId>> edited_;
  std::vector<ValueId> added_;  // outputs of the swap nodes
};

}  // namespace spillway

#endif  // SPILLWAY_LMS_V1_DATA_FLOW_H_
