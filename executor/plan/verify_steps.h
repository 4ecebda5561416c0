// The part of VerifyPlan that looks at each step and resident by itself.
#ifndef SPILLWAY_EXECUTOR_PLAN_VERIFY_STEPS_H_
#define SPILLWAY_EXECUTOR_PLAN_VERIFY_STEPS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/ids.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// Requires: ids exist; a node runs once, as the kind of step that it is, on
// that kind's lane, and not at all if it is resident; slots hold the buffers of
// the node's values, of their size and in their space; an output has an input's
// bytes where its op says so and nowhere else, and never a resident's unless it
// is the resident; bytes made by a step are transient, those of a Variable and
// of a constant are of that kind, each its own, and no step writes a constant;
// scratch is nobody's value, on the device, and with `workspace_bytes` (null:
// not known) there is exactly as much as the kernel asks for. Errors: INTERNAL,
// naming step and buffer. Cost: O(steps + nodes).
absl::Status VerifySteps(const ExecutionPlan& plan, const Graph& graph,
                         const OpRegistry& ops,
                         const IdMap<NodeId, int64_t>* workspace_bytes);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_VERIFY_STEPS_H_
