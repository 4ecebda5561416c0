// Checks the invariants of a graph from an untrusted source or a pass.
#ifndef SPILLWAY_GRAPH_VERIFY_H_
#define SPILLWAY_GRAPH_VERIFY_H_

#include "absl/status/status.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// INVALID_ARGUMENT naming the node when: there is a cycle over data and control
// edges (its nodes are listed); a registered op has the wrong number of inputs,
// an unknown attribute, a shape or attribute its schema refuses, or outputs
// other than inferred; use lists or ids are inconsistent; or a reader of a
// variable is not ordered against a node that overwrites it. Also the status of
// `registry`.
absl::Status VerifyGraph(const Graph& graph, const OpRegistry& registry);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_VERIFY_H_
