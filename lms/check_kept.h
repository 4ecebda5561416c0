// What every edit must leave as it is.
#ifndef SPILLWAY_LMS_CHECK_KEPT_H_
#define SPILLWAY_LMS_CHECK_KEPT_H_

#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"

namespace spillway {

// INTERNAL unless node `id` of the original has the same name, op, attributes,
// placement, cost, outputs and types in the edited graph.
absl::Status CheckKept(const Graph& original, const Graph& edited, NodeId id);

// Whether both name the same nodes, in any order; repetitions do not count.
bool SameNodes(std::vector<NodeId> some, std::vector<NodeId> others);

}  // namespace spillway

#endif  // SPILLWAY_LMS_CHECK_KEPT_H_
