#include "lms/lms.h"

#include <utility>

#include "base/status_macros.h"
#include "lms/apply_swap_plan.h"
#include "lms/check_unedited.h"
#include "lms/recompute/apply_recompute_plan.h"
#include "lms/recompute/plan_recompute.h"
#include "lms/recompute/verify_recompute.h"
#include "lms/storage_readers.h"
#include "lms/v1/plan_swaps.h"
#include "lms/v2/plan_swaps.h"

namespace spillway {

namespace {

absl::StatusOr<SwapPlan> PlanSwaps(const LmsOptions& options,
                                   const StorageMap& storages,
                                   const Graph& graph) {
  SPILLWAY_RETURN_IF_ERROR(CheckOptions(options));
  const bool is_v2 = options.mode == LmsMode::kV2;
  if (options.mode == LmsMode::kOff || (!is_v2 && options.v1.n_tensors == 0)) {
    return SwapPlan{};
  }
  SPILLWAY_RETURN_IF_ERROR(CheckHasNoSwaps(graph));
  return is_v2 ? PlanSwapsV2(options, storages, graph)
               : PlanSwapsV1(options, storages, graph);
}

}  // namespace

absl::StatusOr<SwapPlan> PlanSwaps(const LmsOptions& options,
                                   const OpRegistry& ops, const Graph& graph) {
  return PlanSwaps(options, StoragesFor(options, ops, graph), graph);
}

AllowedEdit AllowedEditOf(const LmsOptions& options, const StorageMap& storages,
                          const SwapPlan& plan) {
  return {.plan = plan,
          .every_swap_in_has_a_trigger = !options.compat,
          .storages = options.compat ? nullptr : &storages};
}

absl::StatusOr<Graph> WithClones(const RecomputePlan& plan,
                                 const OpRegistry& ops, const Graph& graph) {
  SPILLWAY_RETURN_IF_ERROR(CheckIds(plan, ops, graph));
  Graph edited = graph;
  if (plan.clones.empty()) return edited;
  ApplyRecomputePlan(plan, ops, edited);
  SPILLWAY_RETURN_IF_ERROR(VerifyRecompute(graph, edited, plan, ops));
  return edited;
}

absl::StatusOr<RecomputePlan> ApplyRecompute(const LmsOptions& options,
                                             const OpRegistry& ops,
                                             Graph& graph) {
  SPILLWAY_ASSIGN_OR_RETURN(RecomputePlan plan,
                            PlanRecompute(options, ops, graph));
  if (plan.clones.empty()) return plan;
  SPILLWAY_ASSIGN_OR_RETURN(graph, WithClones(plan, ops, graph));
  return plan;
}

absl::StatusOr<LmsReport> ApplyLms(const LmsOptions& options,
                                   const OpRegistry& ops, Graph& graph) {
  SPILLWAY_RETURN_IF_ERROR(CheckOptions(options));
  Graph recomputed = graph;
  SPILLWAY_ASSIGN_OR_RETURN(const RecomputePlan clones,
                            ApplyRecompute(options, ops, recomputed));
  const StorageMap storages = StoragesFor(options, ops, recomputed);
  SPILLWAY_ASSIGN_OR_RETURN(const SwapPlan plan,
                            PlanSwaps(options, storages, recomputed));
  Graph edited = recomputed;
  ApplySwapPlan(plan, edited);
  SPILLWAY_RETURN_IF_ERROR(
      VerifySwaps(recomputed, edited, AllowedEditOf(options, storages, plan)));
  LmsReport report = MakeReport(clones, plan, graph, edited);
  graph = std::move(edited);
  return report;
}

}  // namespace spillway
