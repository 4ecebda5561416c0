#include "executor/plan/compile.h"

#include <utility>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/plan/assign_buffers.h"
#include "executor/plan/floor.h"
#include "executor/plan/lifetimes.h"
#include "executor/plan/lower.h"
#include "executor/plan/place_buffers.h"
#include "executor/plan/place_waits.h"
#include "fmt/format.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

std::string ResidentKey(const Node& node, std::string_view constant_prefix) {
  return node.op == kVariable ? node.name
                              : std::string(constant_prefix) + node.name;
}

absl::Status DeviceBudgetError(const Graph& graph, const MemoryFloor& floor,
                               int64_t needed, int64_t budget) {
  const std::string_view at =
      floor.node.is_valid() ? std::string_view(graph.node(floor.node).name)
                            : "(no node)";
  const std::string_view remedy =
      floor.bytes <= budget ? "swap more (--lms), or lower the batch size"
                            : "swapping cannot help, lower the batch size";
  return ResourceExhausted(fmt::format(
      "device memory: the step needs {} ({} bytes), the budget is {}: {} "
      "missing; the smallest budget with these options is {} bytes; the floor, "
      "the largest working set of one node, is {} at {}; {} (simulate "
      "--find_max_batch finds the largest that fits)",
      FormatBytes(needed), needed, FormatBytes(budget),
      FormatBytes(needed - budget), needed, FormatBytes(floor.bytes), at,
      remedy));
}

absl::Status HostBudgetError(int64_t needed, int64_t budget) {
  return ResourceExhausted(fmt::format(
      "host swap pool exhausted: need {} ({} bytes), limit {}: {} missing; "
      "raise --host_memory, or swap less",
      FormatBytes(needed), needed, FormatBytes(budget),
      FormatBytes(needed - budget)));
}

}  // namespace

void AddResidents(const Graph& graph, const OpRegistry& ops,
                  const Schedule& schedule, std::string_view constant_prefix,
                  ResidentLayout& layout) {
  for (const NodeId id : schedule.order) {
    const Node& node = graph.node(id);
    if (!IsResidentNode(node, ops)) continue;
    const auto [entry, is_new] = layout.offsets.try_emplace(
        ResidentKey(node, constant_prefix), layout.bytes);
    if (!is_new) continue;
    layout.bytes +=
        AlignUp(graph.type(node.outputs[0]).num_bytes(), kBufferAlignment);
  }
}

absl::StatusOr<ExecutionPlan> CompilePlan(const Graph& graph,
                                          const OpRegistry& ops,
                                          const Schedule& schedule,
                                          const CompileOptions& options) {
  for (const ValueId fetch : options.fetches) {
    if (!schedule.contains(graph.value(fetch).producer)) {
      return InvalidArgument(fmt::format("fetch {} is not part of the step",
                                         graph.ValueName(fetch)));
    }
  }
  UnplacedPlan lowered = LowerToSteps(graph, ops, schedule, options);
  ExecutionPlan& plan = lowered.plan;
  Lifetimes lifetimes = FindLifetimes(plan);
  PlaceBuffers(Space::kDevice, options.device_budget_bytes, lifetimes, plan);
  if (options.device_budget_bytes.has_value() &&
      plan.device_bytes > *options.device_budget_bytes) {
    return DeviceBudgetError(graph, FindFloor(graph, ops, schedule, options),
                             plan.device_bytes, *options.device_budget_bytes);
  }
  PlaceBuffers(Space::kHost, options.host_budget_bytes, lifetimes, plan);
  if (options.host_budget_bytes.has_value() &&
      plan.host_bytes > *options.host_budget_bytes) {
    return HostBudgetError(plan.host_bytes, *options.host_budget_bytes);
  }
  AddWaits(lowered.dependencies, plan);
  return std::move(plan);
}

}  // namespace spillway
