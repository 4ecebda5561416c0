#include "lms/lms.h"

#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/well_known_ops.h"
#include "lms/apply_swap_plan.h"
#include "lms/storage_readers.h"
#include "lms/v1/plan_swaps.h"
#include "lms/v2/plan_swaps.h"

namespace spillway {

absl::Status CheckIsUnedited(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (node.op == kSwapOut || node.op == kSwapIn) {
      return FailedPrecondition(fmt::format(
          "this graph has been edited for LMS already (it has {}); edit the "
          "original",
          node.name));
    }
  }
  return absl::OkStatus();
}

namespace {

absl::StatusOr<SwapPlan> PlanSwaps(const LmsOptions& options,
                                   const StorageMap& storages,
                                   const Graph& graph) {
  SPILLWAY_RETURN_IF_ERROR(CheckOptions(options));
  const bool is_v2 = options.mode == LmsMode::kV2;
  if (options.mode == LmsMode::kOff || (!is_v2 && options.v1.n_tensors == 0)) {
    return SwapPlan{};
  }
  SPILLWAY_RETURN_IF_ERROR(CheckIsUnedited(graph));
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

absl::StatusOr<LmsReport> ApplyLms(const LmsOptions& options,
                                   const OpRegistry& ops, Graph& graph) {
  const StorageMap storages = StoragesFor(options, ops, graph);
  SPILLWAY_ASSIGN_OR_RETURN(const SwapPlan plan,
                            PlanSwaps(options, storages, graph));
  Graph edited = graph;
  ApplySwapPlan(plan, edited);
  SPILLWAY_RETURN_IF_ERROR(
      VerifySwaps(graph, edited, AllowedEditOf(options, storages, plan)));
  LmsReport report = MakeReport(plan, graph, edited);
  graph = std::move(edited);
  return report;
}

}  // namespace spillway
