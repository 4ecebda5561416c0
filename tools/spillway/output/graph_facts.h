// Counts over a graph, for `spillway inspect`.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_GRAPH_FACTS_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_GRAPH_FACTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// The forward phase is every node outside the optimizer's scopes (those that
// LMS finds by default).
struct GraphFacts {
  int64_t nodes = 0;
  int64_t edges = 0;          // uses of values, and control edges
  int64_t control_edges = 0;  // included in edges
  int64_t levels = 0;
  int64_t parameters = 0;  // elements of trainable variables
  int64_t parameter_bytes = 0;
  double forward_flops = 0;  // a multiply-add counts as two
  // Values that the forward phase computes, each counted once: no feeds, no
  // variables, no outputs that alias an input (Reshape).
  int64_t activation_bytes = 0;
  // Values of the forward phase, including feeds, that the backward phase
  // reads: a step has to keep them all unless it swaps or recomputes.
  int64_t saved_bytes = 0;
};

// Errors: INVALID_ARGUMENT for a cycle. Cost: linear.
absl::StatusOr<GraphFacts> FindFacts(const Graph& graph, const OpRegistry& ops);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_GRAPH_FACTS_H_
