// Refuses graphs that have been edited for LMS already.
#ifndef SPILLWAY_LMS_CHECK_UNEDITED_H_
#define SPILLWAY_LMS_CHECK_UNEDITED_H_

#include "absl/status/status.h"
#include "graph/graph.h"

namespace spillway {

// FAILED_PRECONDITION for a graph that already has swaps.
absl::Status CheckHasNoSwaps(const Graph& graph);

// The same, and FAILED_PRECONDITION for one that has clones.
absl::Status CheckIsUnedited(const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_CHECK_UNEDITED_H_
