// GraphRewrite: collects changes to a graph and applies them all at once, by
// building a new graph. The original is never modified, so a pass that fails
// half-way has changed nothing.
//
// Nodes keep their order: a node that is replaced stays in its place, so passes
// do not shuffle schedules.
#ifndef SPILLWAY_GRAPH_PASSES_REWRITE_H_
#define SPILLWAY_GRAPH_PASSES_REWRITE_H_

#include <cstdint>
#include <map>
#include <utility>

#include "graph/graph.h"

namespace spillway {

// A graph made from another one, and the new id of each old value (invalid for
// values that no longer exist).
struct RewrittenGraph {
  Graph graph = {};
  IdMap<ValueId, ValueId> values = {};
};

// The NodeSpec for AddNode to make `node` again; inputs and control inputs are
// old ids.
NodeSpec SpecOf(const Graph& graph, const Node& node);

class GraphRewrite {
 public:
  // An output of a node of the new graph; `node` is an old id.
  struct Output {
    NodeId node = {};
    int index = 0;
  };

  // `graph` is borrowed and must outlive the rewrite.
  explicit GraphRewrite(const Graph& graph);

  // Node `id` becomes `spec`, whose inputs and control inputs are old ids. Its
  // old outputs are the first outputs of the new node unless redirected. Its
  // old control inputs are added to those of `spec`.
  void Replace(NodeId id, NodeSpec spec);

  // Removes `id`, whose outputs are redirected or have no reader left.
  // `stands_for_it` inherits its control edges in both directions; if invalid,
  // the edges are removed.
  void Drop(NodeId id, NodeId stands_for_it = {});

  // Readers of the old value `from` read `to` instead, an output of a node that
  // stays. An invalid `to` removes the value.
  void Redirect(ValueId from, Output to);

  // The input `slot` of `reader`, a node that stays, becomes `from`, whatever
  // its spec says: for outputs that no old value stands for.
  void Connect(NodeId reader, int slot, Output from);

  // Whether Replace or Drop was called for `id`.
  bool touches(NodeId id) const { return touched_[id]; }
  int64_t num_changes() const { return num_changes_; }

  // The new graph. Cost: proportional to the graph.
  RewrittenGraph Apply() const;

 private:
  class Copier;

  const Graph& graph_;
  int64_t num_changes_ = 0;
  IdMap<NodeId, bool> touched_;
  std::map<NodeId, NodeSpec> replaced_;
  std::map<NodeId, NodeId> dropped_;  // to the node that stands for it
  std::map<ValueId, Output> redirected_;
  std::map<std::pair<NodeId, int>, Output> connected_;
};

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_REWRITE_H_
