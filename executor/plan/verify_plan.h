// The independent check of every plan before it runs, naive on purpose.
#ifndef SPILLWAY_EXECUTOR_PLAN_VERIFY_PLAN_H_
#define SPILLWAY_EXECUTOR_PLAN_VERIFY_PLAN_H_

#include "absl/status/status.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// Builds the happens-before order of the steps from lanes and waits alone and
// requires: waits point backwards; every needed or fetched node is a step,
// slots hold the buffers of the node's values, of their size and inside the
// arena; an output has an input's bytes where its op says so and nowhere else;
// every read of a value comes after its write and before its bytes are
// overwritten; any two buffers of one space whose bytes overlap are ordered,
// all uses of one before the first of the other; residents overlap nothing.
// Errors: INTERNAL, naming steps and buffers. Cost: O((steps + buffers) log
// buffers).
absl::Status VerifyPlan(const ExecutionPlan& plan, const Graph& graph,
                        const OpRegistry& ops);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_VERIFY_PLAN_H_
