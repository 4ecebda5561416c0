// The part of VerifyPlan that checks each step and each resident alone.
#ifndef SPILLWAY_EXECUTOR_PLAN_VERIFY_STEPS_H_
#define SPILLWAY_EXECUTOR_PLAN_VERIFY_STEPS_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "base/ids.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/node.h"
#include "graph/op_registry.h"

namespace spillway {

// Requires:
// - Ids exist. A node runs once, as a step of its kind on that kind's lane; a
//   resident node does not run.
// - Slots hold the buffers of the node's values, of the right size and space.
// - An output shares an input's buffer if its op makes it an alias, and may
//   share it if its op can work in place. Only an alias of a resident shares
//   its buffer.
// - Buffers written by a step are transient. Each Variable and each constant
//   has its own buffer, of that kind; no step writes a constant's.
// - A workspace holds no value and is on the device. Its size is what the
//   kernel needs: `workspace_bytes`, or null if unknown.
// Errors: INTERNAL, naming step and buffer. Cost: O(steps + nodes).
absl::Status VerifySteps(const ExecutionPlan& plan, const Graph& graph,
                         const OpRegistry& ops,
                         const IdMap<NodeId, int64_t>* workspace_bytes);

// Whether the node is the SwapOut of a feed: its SwapIns are fed, so it has no
// step. That holds if only SwapIns read its copy and no fetch names it. The
// verifier does not use the planner's rule (graph/feeds.h), so that each checks
// the other.
bool HasNoStep(const Graph& graph, const Node& node,
               std::span<const ValueId> fetches);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_VERIFY_STEPS_H_
