// Counts over a graph: what `spillway inspect` tells.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_GRAPH_FACTS_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_GRAPH_FACTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// The forward phase is every node outside the optimizer's scope (the scopes
// that LMS finds by itself).
struct GraphFacts {
  int64_t nodes = 0;
  int64_t edges = 0;          // uses of values, and control edges
  int64_t control_edges = 0;  // of these
  int64_t levels = 0;
  int64_t parameters = 0;  // elements of trainable variables
  int64_t parameter_bytes = 0;
  double forward_flops = 0;  // a multiply-add counts as two
  // Values that the forward phase computes, each once: no feeds, no variables,
  // no outputs that are an input's bytes (Reshape).
  int64_t activation_bytes = 0;
  // Values of the forward phase, feeds among them, that the backward phase
  // reads: what a step cannot do with less of unless it swaps or recomputes.
  int64_t saved_bytes = 0;
};

// Errors: INVALID_ARGUMENT for a cycle. Cost: linear.
absl::StatusOr<GraphFacts> FindFacts(const Graph& graph, const OpRegistry& ops);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_GRAPH_FACTS_H_
