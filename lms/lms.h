// Large-model support: rewrites a training graph so that tensors leave the
// device and come back in time, or are computed a second time. Pure graph
// rewriting; uses no device and no times.
#ifndef SPILLWAY_LMS_LMS_H_
#define SPILLWAY_LMS_LMS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/standard_ops.h"
#include "graph/storage.h"
#include "lms/options.h"
#include "lms/recompute/plan_recompute.h"
#include "lms/recompute/recompute_plan.h"
#include "lms/report.h"
#include "lms/swap_plan.h"
#include "lms/verify_swaps.h"

namespace spillway {

// The graph with the clones of the plan, verified. Errors: INVALID_ARGUMENT for
// a plan of another graph; INTERNAL if the clones change what the graph
// computes.
absl::StatusOr<Graph> WithClones(const RecomputePlan& plan,
                                 const OpRegistry& ops, const Graph& graph);

// The graph with the swaps of the plan, verified. `options`: those by which the
// swaps were planned. Errors: as WithClones.
absl::StatusOr<Graph> WithSwaps(const LmsOptions& options, const SwapPlan& plan,
                                const OpRegistry& ops, const Graph& graph);

// The swaps that `options` request, apart from options.recompute, in a graph
// that may have clones; changes nothing. `ops` tells which values
// alias the same bytes; nodes of other ops make new bytes. Errors:
// INVALID_ARGUMENT for options that are out of range or match nothing;
// FAILED_PRECONDITION for a graph that already has swaps.
absl::StatusOr<SwapPlan> PlanSwaps(const LmsOptions& options,
                                   const OpRegistry& ops, const Graph& graph);

// Plans (PlanRecompute), applies and verifies the clones, then the swaps. On
// any error `graph` is unchanged.
absl::StatusOr<LmsReport> ApplyLms(const LmsOptions& options,
                                   const OpRegistry& ops, Graph& graph);

// The changes that an edit with these options may make. `storages` are those of
// the graph (StoragesFor). The result borrows `plan` and `storages`.
AllowedEdit AllowedEditOf(const LmsOptions& options, const StorageMap& storages,
                          const SwapPlan& plan);

// The same for graphs of this library's ops. Link spillway::ops to use these.
inline absl::StatusOr<SwapPlan> PlanSwaps(const LmsOptions& options,
                                          const Graph& graph) {
  return PlanSwaps(options, StandardOps(), graph);
}
inline absl::StatusOr<LmsReport> ApplyLms(const LmsOptions& options,
                                          Graph& graph) {
  return ApplyLms(options, StandardOps(), graph);
}

}  // namespace spillway

#endif  // SPILLWAY_LMS_LMS_H_
