#include "lms/lms.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "lms/apply_swap_plan.h"
#include "lms/check_unedited.h"
#include "lms/recompute/apply_recompute_plan.h"
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

// `storages` are those of the graph (StoragesFor).
absl::StatusOr<Graph> WithSwaps(const LmsOptions& options, const SwapPlan& plan,
                                const StorageMap& storages,
                                const Graph& graph) {
  Graph edited = graph;
  ApplySwapPlan(plan, edited);
  SPILLWAY_RETURN_IF_ERROR(
      VerifySwaps(graph, edited, AllowedEditOf(options, storages, plan)));
  return edited;
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

absl::StatusOr<Graph> WithSwaps(const LmsOptions& options, const SwapPlan& plan,
                                const OpRegistry& ops, const Graph& graph) {
  SPILLWAY_RETURN_IF_ERROR(CheckIds(plan, graph));
  return WithSwaps(options, plan, StoragesFor(options, ops, graph), graph);
}

absl::StatusOr<LmsReport> ApplyLms(const LmsOptions& options,
                                   const OpRegistry& ops, Graph& graph) {
  SPILLWAY_RETURN_IF_ERROR(CheckOptions(options));
  SPILLWAY_ASSIGN_OR_RETURN(const RecomputePlan clones,
                            PlanRecompute(options, ops, graph));
  std::optional<Graph> recomputed;
  if (!clones.clones.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(recomputed, WithClones(clones, ops, graph));
  }
  const Graph& before = recomputed ? *recomputed : graph;
  const StorageMap storages = StoragesFor(options, ops, before);
  SPILLWAY_ASSIGN_OR_RETURN(const SwapPlan swaps,
                            PlanSwaps(options, storages, before));
  SPILLWAY_ASSIGN_OR_RETURN(Graph edited,
                            WithSwaps(options, swaps, storages, before));
  LmsReport report = MakeReport(clones, swaps, graph, edited);
  graph = std::move(edited);
  return report;
}

}  // namespace spillway
