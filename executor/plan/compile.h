// Graph -> ExecutionPlan: order, lanes, waits, aliases, offsets.
#ifndef SPILLWAY_EXECUTOR_PLAN_COMPILE_H_
#define SPILLWAY_EXECUTOR_PLAN_COMPILE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/plan/compile_options.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/order/schedule.h"

namespace spillway {

// Adds the residents that `schedule` uses and `layout` lacks. Constants are
// keyed by `constant_prefix` + name, since they are not shared. A variable that
// is already in `layout` must have the same size (PlanPrograms checks it).
void AddResidents(const Graph& graph, const OpRegistry& ops,
                  const Schedule& schedule, std::string_view constant_prefix,
                  ResidentLayout& layout);

// Runs the nodes in the order of `schedule`, except for swap-ins: if the device
// budget requires it, some run right before their first reader
// (delay_swap_ins.h). Errors: RESOURCE_EXHAUSTED if no plan fits, with the
// sizes of memory_shortage.h; for the host pool: "host swap pool exhausted:
// need x, limit y". INVALID_ARGUMENT for a fetch that the schedule does not
// compute.
absl::StatusOr<ExecutionPlan> CompilePlan(const Graph& graph,
                                          const OpRegistry& ops,
                                          const Schedule& schedule,
                                          const CompileOptions& options);

// The plans for options.placement.index = 0, 1, ..., at most `max` of them.
// Empty if no placement by expected times fits. Errors: as CompilePlan.
absl::StatusOr<std::vector<ExecutionPlan>> CompileByTime(
    const Graph& graph, const OpRegistry& ops, const Schedule& schedule,
    const CompileOptions& options, size_t max);

// The smallest device budget that CompilePlan accepts with these options (their
// own budgets are ignored); it also accepts every larger one.
int64_t SmallestDeviceBudget(const Graph& graph, const OpRegistry& ops,
                             const Schedule& schedule,
                             const CompileOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_COMPILE_H_
