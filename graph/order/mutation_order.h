// The rule that makes it safe to overwrite variables in a graph whose nodes may
// run in any order that its edges allow.
#ifndef SPILLWAY_GRAPH_ORDER_MUTATION_ORDER_H_
#define SPILLWAY_GRAPH_ORDER_MUTATION_ORDER_H_

#include <span>

#include "absl/status/status.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// INVALID_ARGUMENT unless every node that overwrites a value (OpDef.mutates) is
// ordered, by a path over data and control edges, against every other node that
// reads the same bytes, also through Identity or Reshape (OpDef.alias).
//
// `order` holds all nodes; edges go forward in it. Cost: one backward sweep
// over the edges for each 64 nodes at which such a path must end.
absl::Status CheckMutationOrder(const Graph& graph, const OpRegistry& registry,
                                std::span<const NodeId> order);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_ORDER_MUTATION_ORDER_H_
