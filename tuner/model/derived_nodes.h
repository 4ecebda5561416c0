// The nodes that OpDef::derive gives for a graph's values, so that their
// kernels can be prepared, timed and examined before any of them is a clone.
#ifndef SPILLWAY_TUNER_MODEL_DERIVED_NODES_H_
#define SPILLWAY_TUNER_MODEL_DERIVED_NODES_H_

#include <cstdint>

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

// By value of the graph: the kernel of its derived node. Values without one
// have zeros; the whole map may be empty if no value has one.
struct DerivedKernel {
  int64_t ns = 0;
  int64_t workspace_bytes = 0;
};
using DerivedKernels = IdMap<ValueId, DerivedKernel>;

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MODEL_DERIVED_NODES_H_
