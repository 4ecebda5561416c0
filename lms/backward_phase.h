// Which nodes of a training graph are its backward and update phase.
#ifndef SPILLWAY_LMS_BACKWARD_PHASE_H_
#define SPILLWAY_LMS_BACKWARD_PHASE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "lms/options.h"

namespace spillway {

// Scopes that contain a `gradients` scope: "momentum_optimizer".
std::vector<std::string> FindOptimizerScopes(const Graph& graph);

// The nodes in options.v1.optimizer_scopes, or, without any, in those that
// FindOptimizerScopes finds; and the clones of recomputation, which run in this
// phase. Errors: INVALID_ARGUMENT, listing the top-level scopes, if there are
// none.
absl::StatusOr<IdMap<NodeId, bool>> FindBackwardNodes(const LmsOptions& options,
                                                      const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_BACKWARD_PHASE_H_
