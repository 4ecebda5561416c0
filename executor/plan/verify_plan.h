// The independent check of every plan before it runs, naive on purpose.
#ifndef SPILLWAY_EXECUTOR_PLAN_VERIFY_PLAN_H_
#define SPILLWAY_EXECUTOR_PLAN_VERIFY_PLAN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "base/ids.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

// Builds the happens-before order of the steps from lanes and waits alone and
// requires: each step is its node's work (verify_steps.h); waits point
// backwards; every needed or fetched node is a step; buffers lie inside their
// arena; every read of a value, fetches included, comes after its write and
// before its bytes are overwritten; any two buffers of one space whose bytes
// overlap are ordered, all uses of one before the first of the other; residents
// overlap nothing. Several programs' plans:
// executor/session/verify_residents.h. `workspace_bytes`: the scratch that each
// node's kernel asks for; null: not known, its size is not checked. Errors:
// INTERNAL, naming steps and buffers. Cost: O((steps + buffers) log buffers).
absl::Status VerifyPlan(
    const ExecutionPlan& plan, const Graph& graph, const OpRegistry& ops,
    const IdMap<NodeId, int64_t>* workspace_bytes = nullptr);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_VERIFY_PLAN_H_
