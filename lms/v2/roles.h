// Who may take part in the swaps of version 2: active nodes, sources, readers.
#ifndef SPILLWAY_LMS_V2_ROLES_H_
#define SPILLWAY_LMS_V2_ROLES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "lms/options.h"

namespace spillway {

struct V2Roles {
  // Takes part in the step: batch norms of the other mode
  // (options.v2.is_training) do not, nor do bodies of loops, nor nodes that
  // read only such nodes.
  IdMap<NodeId, bool> is_active = {};
  IdMap<NodeId, bool> on_device = {};  // active, and placed there
  IdMap<NodeId, bool> may_be_source = {};
  IdMap<NodeId, bool> may_be_reader = {};
};

// Never sources nor readers: host nodes, inactive ones, and ops that hold,
// fetch or overwrite variables or make data up. Errors: INVALID_ARGUMENT for a
// filter that matches nothing, and (without compat) for filters that leave
// nothing of what they include.
absl::StatusOr<V2Roles> FindV2Roles(const LmsOptions& options,
                                    const Graph& graph);

// A variable that an optimizer changes; its attribute `trainable` says so, or
// is missing.
bool IsTrainable(const Node& node);
int64_t TrainableBytes(const Graph& graph);

// The value is resident, or fed: nothing runs for it.
bool IsSourceOfData(const Node& node);

}  // namespace spillway

#endif  // SPILLWAY_LMS_V2_ROLES_H_
