// Checks every plan before it runs, independently of the planner and naively on
// purpose.
#ifndef SPILLWAY_EXECUTOR_PLAN_VERIFY_PLAN_H_
#define SPILLWAY_EXECUTOR_PLAN_VERIFY_PLAN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/ids.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// Derives the happens-before order of the steps from lanes and waits alone and
// requires: each step does its node's work (verify_steps.h); waits point
// backwards; every needed or fetched node is a step; buffers lie inside their
// arena; every read of a value, including fetches, comes after its write and
// before its bytes are overwritten; any two buffers of one space whose bytes
// overlap are ordered, all uses of one before the first use of the other;
// residents overlap nothing. For the plans of several programs see
// executor/session/verify_residents.h. `workspace_bytes`: the workspace that
// each node's kernel needs; null: unknown, its size is not checked. Errors:
// INTERNAL, naming steps and buffers. Cost: O((steps + buffers) log buffers).
absl::Status VerifyPlan(
    const ExecutionPlan& plan, const Graph& graph, const OpRegistry& ops,
    const IdMap<NodeId, int64_t>* workspace_bytes = nullptr);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_VERIFY_PLAN_H_
