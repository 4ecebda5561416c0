// The buffer of each value: one for each storage (graph/storage.h), except for
// outputs that are computed in place.
#ifndef SPILLWAY_EXECUTOR_PLAN_ASSIGN_BUFFERS_H_
#define SPILLWAY_EXECUTOR_PLAN_ASSIGN_BUFFERS_H_

#include <span>

#include "executor/plan/compile_options.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/order/schedule.h"

namespace spillway {

// Buffers of all values that `schedule` computes or reads, without workspaces;
// only residents have an offset yet.
struct BufferAssignment {
  IdMap<BufferId, Buffer> buffers = {};
  IdMap<ValueId, BufferId> buffer_of = {};
  // Values of each buffer, in schedule order.
  IdMap<BufferId, std::vector<ValueId>> values = {};
};

// An output that aliases an input gets the input's buffer. An output that may
// be computed in place does too, if the sizes match, no later step reads the
// bytes, they are not fetched, no swap-out reads them, nor a collective that
// may still run (for a collective: a kernel), they are not resident, and no
// other input of the node shares them.
BufferAssignment AssignBuffers(const Graph& graph, const OpRegistry& ops,
                               const Schedule& schedule,
                               const ResidentLayout& residents,
                               std::string_view constant_prefix,
                               std::span<const ValueId> fetches);

// The lane on which a node that is not resident runs; copies of feeds run on
// kCopyIn.
Lane LaneOf(const Node& node);

// The spaces in which a node's inputs and outputs live.
Space InputSpace(const Node& node);
Space OutputSpace(const Node& node);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_ASSIGN_BUFFERS_H_
