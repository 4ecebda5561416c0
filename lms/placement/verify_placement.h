// Proves that placing nodes on the host (place_on_host.h) changed where a graph
// computes and not what it computes.
#ifndef SPILLWAY_LMS_PLACEMENT_VERIFY_PLACEMENT_H_
#define SPILLWAY_LMS_PLACEMENT_VERIFY_PLACEMENT_H_

#include "absl/status/status.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// INTERNAL naming the node unless:
// - every node of `original` is in `placed` with the same id, name, op,
//   attributes, cost, types and control inputs, and reads the same values,
//   directly or through one copy;
// - every other node is a copy of a value of `original`;
// - every node reads and writes only the memory where it runs, and copies read
//   one memory and write the other;
// - a copy of bytes that a node overwrites is made after the same of these
//   nodes as its readers ran in `original`.
// `placed` must have passed VerifyGraph.
absl::Status VerifyPlacement(const Graph& original, const Graph& placed,
                             const OpRegistry& ops);

}  // namespace spillway

#endif  // SPILLWAY_LMS_PLACEMENT_VERIFY_PLACEMENT_H_
