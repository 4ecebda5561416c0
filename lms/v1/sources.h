// Which nodes' outputs TFLMS version 1 may move: exclusion and inclusion lists.
#ifndef SPILLWAY_LMS_V1_SOURCES_H_
#define SPILLWAY_LMS_V1_SOURCES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "lms/options.h"
#include "lms/v1/orders.h"

namespace spillway {

// Nodes that the seeds reach (also gradient nodes, which can be sources behind
// gradient nodes of unknown order) and that neither the options nor the
// original's own list of types exclude. If any scope or type is included, only
// the included ones of these nodes. Without options.compat, variables and nodes
// on the host are excluded as well: their bytes are not temporary device
// tensors. Errors: INVALID_ARGUMENT for a scope without a node, and if all
// inclusions together select no node that the seeds reach.
absl::StatusOr<IdMap<NodeId, bool>> FindV1Sources(const LmsOptions& options,
                                                  const Graph& graph,
                                                  const V1Orders& orders);

// Types in the two lists of types that no node has.
std::vector<std::string> AbsentTypes(const LmsOptions& options,
                                     const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V1_SOURCES_H_
