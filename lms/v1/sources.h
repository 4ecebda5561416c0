// Whose outputs TFLMS version 1 may move: the exclusion and inclusion lists.
#ifndef SPILLWAY_LMS_V1_SOURCES_H_
#define SPILLWAY_LMS_V1_SOURCES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "lms/options.h"
#include "lms/v1/orders.h"

namespace spillway {

// Nodes that the seeds reach (gradient nodes too, which can be sources behind
// gradient nodes of unknown order) and that neither the options nor the
// original's own list of types exclude; of these only the included ones, if any
// scope or type is to be included. Without options.compat, variables and nodes
// on the host are excluded as well: they do not come and go on the device.
// Errors: INVALID_ARGUMENT for a scope without a node, and when all inclusions
// together select nothing that the seeds reach.
absl::StatusOr<IdMap<NodeId, bool>> FindV1Sources(const LmsOptions& options,
                                                  const Graph& graph,
                                                  const V1Orders& orders);

// Types in the two lists of types that no node has.
std::vector<std::string> AbsentTypes(const LmsOptions& options,
                                     const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V1_SOURCES_H_
