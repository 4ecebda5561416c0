// The nodes that OpDef::derive gives for a graph's values, so that their
// kernels can be prepared, timed and examined before any of them is a clone.
#ifndef SPILLWAY_TUNER_MODEL_DERIVED_NODES_H_
#define SPILLWAY_TUNER_MODEL_DERIVED_NODES_H_

#include "base/ids.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

struct DerivedNodes {
  // The original graph; then the derived nodes, which nothing reads.
  Graph graph = {};
  // By value of the original graph; invalid: the value has no such node.
  IdMap<ValueId, NodeId> node_of = {};
};

DerivedNodes AddDerivedNodes(const Graph& graph, const OpRegistry& ops);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MODEL_DERIVED_NODES_H_
