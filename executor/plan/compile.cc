#include "executor/plan/compile.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/plan/assign_buffers.h"
#include "executor/plan/delay_swap_ins.h"
#include "executor/plan/floor.h"
#include "executor/plan/lifetimes.h"
#include "executor/plan/lower.h"
#include "executor/plan/memory_shortage.h"
#include "executor/plan/place_buffers.h"
#include "executor/plan/place_by_time.h"
#include "executor/plan/place_waits.h"
#include "fmt/format.h"
#include "graph/storage.h"

namespace spillway {
namespace {

absl::Status DeviceBudgetError(const Graph& graph, const MemoryFloor& floor,
                               int64_t needed, int64_t budget) {
  return ShortageError(
      {.needed_bytes = needed,
       .budget_bytes = budget,
       .floor_bytes = floor.bytes,
       .floor_node = floor.node.is_valid() ? graph.node(floor.node).name : ""});
}

absl::Status HostBudgetError(int64_t needed, int64_t budget) {
  return ResourceExhausted(fmt::format(
      "host swap pool exhausted: need {} ({} bytes), limit {}: {} missing; "
      "raise host_memory, or swap less",
      FormatBytes(needed), needed, FormatBytes(budget),
      FormatBytes(needed - budget)));
}

absl::Status CheckFetches(const Graph& graph, const Schedule& schedule,
                          const CompileOptions& options) {
  for (const ValueId fetch : options.fetches) {
    if (!schedule.contains(graph.value(fetch).producer)) {
      return InvalidArgument(fmt::format("fetch {} is not part of the step",
                                         graph.ValueName(fetch)));
    }
  }
  return absl::OkStatus();
}

// A plan with offsets for its device buffers.
struct DevicePlan {
  UnplacedPlan plan = {};
  Lifetimes lifetimes = {};
  bool fits = false;
  int64_t smallest_bytes = 0;  // the least that any of the tried plans needs
};

// Delays more and more swap-ins until the device buffers fit `budget_bytes`, or
// until delaying no longer helps.
DevicePlan PlaceOnDevice(const Graph& graph, const OpRegistry& ops,
                         const Schedule& schedule,
                         const CompileOptions& options,
                         std::optional<int64_t> budget_bytes) {
  DelayedSchedule delayed = WithoutDelays(graph, schedule);
  DevicePlan result;
  result.smallest_bytes = std::numeric_limits<int64_t>::max();
  do {
    result.plan = LowerToSteps(graph, ops, delayed.schedule, options);
    ExecutionPlan& plan = result.plan.plan;
    plan.delayed_swap_ins = delayed.num_delayed;
    result.lifetimes = FindLifetimes(plan);
    if (!budget_bytes) KeepForCollectives(plan, result.lifetimes);
    PlaceBuffers(Space::kDevice, budget_bytes, result.lifetimes, plan);
    result.smallest_bytes = std::min(result.smallest_bytes, plan.device_bytes);
    result.fits = !budget_bytes || plan.device_bytes <= *budget_bytes;
  } while (!result.fits &&
           DelaySwapInsAtPeak(graph, result.plan.plan, delayed));
  return result;
}

// Adds the host pool and the waits to a plan whose device buffers are placed.
absl::StatusOr<ExecutionPlan> Finish(DevicePlan placed,
                                     const CompileOptions& options) {
  ExecutionPlan& plan = placed.plan.plan;
  PlaceBuffers(Space::kHost, options.host_budget_bytes, placed.lifetimes, plan);
  if (options.host_budget_bytes.has_value() &&
      plan.host_bytes > *options.host_budget_bytes) {
    return HostBudgetError(plan.host_bytes, *options.host_budget_bytes);
  }
  AddWaits(placed.plan.dependencies, plan);
  return std::move(plan);
}

}  // namespace

void AddResidents(const Graph& graph, const OpRegistry& ops,
                  const Schedule& schedule, std::string_view constant_prefix,
                  ResidentLayout& layout) {
  for (const NodeId id : schedule.order) {
    const Node& node = graph.node(id);
    if (!IsResidentNode(node, ops)) continue;
    int64_t& bytes =
        OutputSpace(node) == Space::kDevice ? layout.bytes : layout.host_bytes;
    const auto [entry, is_new] =
        layout.offsets.try_emplace(ResidentKey(node, constant_prefix), bytes);
    if (!is_new) continue;
    bytes += AlignUp(graph.type(node.outputs[0]).num_bytes(), kBufferAlignment);
  }
}

absl::StatusOr<std::vector<ExecutionPlan>> CompileByTime(
    const Graph& graph, const OpRegistry& ops, const Schedule& schedule,
    const CompileOptions& options, size_t max) {
  SPILLWAY_RETURN_IF_ERROR(CheckFetches(graph, schedule, options));
  std::vector<ExecutionPlan> plans;
  for (TimedPlan& timed : PlaceByTime(graph, ops, schedule, options, max)) {
    SPILLWAY_ASSIGN_OR_RETURN(plans.emplace_back(),
                              Finish({.plan = std::move(timed.plan),
                                      .lifetimes = std::move(timed.lifetimes)},
                                     options));
  }
  return plans;
}

absl::StatusOr<ExecutionPlan> CompilePlan(const Graph& graph,
                                          const OpRegistry& ops,
                                          const Schedule& schedule,
                                          const CompileOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(CheckFetches(graph, schedule, options));
  const TimedPlacement& placement = options.placement;
  if (!placement.expected_ns.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(
        std::vector<ExecutionPlan> plans,
        CompileByTime(graph, ops, schedule, options, placement.index + 1));
    if (plans.size() > placement.index) return std::move(plans.back());
  }
  const std::optional<int64_t> budget_bytes = TightestDeviceBudget(options);
  DevicePlan placed =
      PlaceOnDevice(graph, ops, schedule, options, budget_bytes);
  if (!placed.fits && placement.may_exceed_within &&
      options.device_budget_bytes > budget_bytes) {
    CompileOptions within_budget = options;
    within_budget.placement.within_bytes.reset();
    return CompilePlan(graph, ops, schedule, within_budget);
  }
  if (!placed.fits) {
    return DeviceBudgetError(graph, FindFloor(graph, ops, schedule, options),
                             placed.smallest_bytes, *budget_bytes);
  }
  return Finish(std::move(placed), options);
}

int64_t SmallestDeviceBudget(const Graph& graph, const OpRegistry& ops,
                             const Schedule& schedule,
                             const CompileOptions& options) {
  return PlaceOnDevice(graph, ops, schedule, options, 0).smallest_bytes;
}

}  // namespace spillway
