// Plans which nodes are computed a second time, by a policy that needs no
// device and no times.
#ifndef SPILLWAY_LMS_RECOMPUTE_PLAN_RECOMPUTE_H_
#define SPILLWAY_LMS_RECOMPUTE_PLAN_RECOMPUTE_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "lms/options.h"
#include "lms/recompute/recompute_plan.h"

namespace spillway {

// The clones that options.recompute asks for; none with the policies kOff and
// kAuto. Also uses options.size_threshold_bytes and v1.optimizer_scopes.
// Changes nothing. Errors: INVALID_ARGUMENT for options that are out of range,
// and as ForwardValues::Of; FAILED_PRECONDITION for a graph that has been
// edited for LMS. Cost: near-linear.
absl::StatusOr<RecomputePlan> PlanRecompute(const LmsOptions& options,
                                            const OpRegistry& ops,
                                            const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_RECOMPUTE_PLAN_RECOMPUTE_H_
