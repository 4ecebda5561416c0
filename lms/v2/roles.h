// Which nodes take part in the swaps of version 2: active nodes, sources,
// readers.
#ifndef SPILLWAY_LMS_V2_ROLES_H_
#define SPILLWAY_LMS_V2_ROLES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "lms/options.h"

namespace spillway {

struct V2Roles {
  // Takes part in the step: not batch norms of the other mode
  // (options.v2.is_training), bodies of loops, or nodes that read only inactive
  // nodes.
  IdMap<NodeId, bool> is_active = {};
  IdMap<NodeId, bool> on_device = {};  // active, and placed on the device
  IdMap<NodeId, bool> may_be_source = {};
  IdMap<NodeId, bool> may_be_reader = {};
};

// Host nodes and inactive nodes are neither sources nor readers, nor are ops
// that hold, fetch or overwrite variables or generate data. Errors:
// INVALID_ARGUMENT for a filter that matches nothing, and (without compat) for
// filters that exclude all nodes that are included.
absl::StatusOr<V2Roles> FindV2Roles(const LmsOptions& options,
                                    const Graph& graph);

// Whether an optimizer changes the variable: its attribute `trainable` is true
// or missing.
bool IsTrainable(const Node& node);
int64_t TrainableBytes(const Graph& graph);

// The value is resident, or fed: no kernel runs for it.
bool IsSourceOfData(const Node& node);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V2_ROLES_H_
