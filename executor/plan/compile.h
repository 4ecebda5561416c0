// Graph -> ExecutionPlan: order, lanes, waits, aliases, offsets.
#ifndef SPILLWAY_EXECUTOR_PLAN_COMPILE_H_
#define SPILLWAY_EXECUTOR_PLAN_COMPILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/interval.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/schedule.h"

namespace spillway {

// Where resident buffers lie, by node name: programs that share variables share
// the layout.
struct ResidentLayout {
  std::map<std::string, int64_t, std::less<>> offsets = {};
  int64_t bytes = 0;  // aligned
};

// Adds the residents that `schedule` uses and `layout` lacks. Constants are
// keyed by `constant_prefix` + name, since they are not shared. Errors:
// INVALID_ARGUMENT when a variable of the same name has another size.
void AddResidents(const Graph& graph, const OpRegistry& ops,
                  const Schedule& schedule, std::string_view constant_prefix,
                  ResidentLayout& layout);

// How buffers were placed when somebody tried a step (tuner/model/evaluate.h),
// so that CompilePlan places them in the same way again.
struct TimedPlacement {
  // When each node is expected to run, ns from the start of the step; empty:
  // not known. Buffers then lie where little is waited for, if they fit the
  // device budget so, and swap-ins come when their bytes are free
  // (place_by_time.h).
  IdMap<NodeId, Interval> expected_ns = {};
  // Which of the placements found by time to take, least expected waiting
  // first.
  size_t index = 0;
  // The device budget of that try, where it is below the present one.
  std::optional<int64_t> within_bytes = {};
  // Whether the present budget will do where the step does not fit
  // within_bytes, as when kernels need more scratch than those of that try.
  bool may_exceed_within = false;
};

// An order of the nodes that was decided elsewhere (tuner/model/step_recipe.h).
struct TimedSchedule {
  Schedule schedule = {};
  TimedPlacement placement = {};
};

struct CompileOptions {
  // Values to keep until the end of the step.
  std::vector<ValueId> fetches = {};
  // Scratch of each node (executor/kernel_registry.h); empty: none.
  IdMap<NodeId, int64_t> workspace_bytes = {};
  // Hard limits; none: as little as the schedule allows with every swap-in as
  // soon as its trigger is done.
  std::optional<int64_t> device_budget_bytes = {};
  std::optional<int64_t> host_budget_bytes = {};
  ResidentLayout residents = {};
  std::string constant_prefix = {};
  TimedPlacement placement = {};
};

// The device budget to be met: the least of those in `options`; none: there is
// none.
std::optional<int64_t> TightestDeviceBudget(const CompileOptions& options);

// Runs the nodes in the order of `schedule`, but for swap-ins: where the device
// budget asks for it, some run right before their first reader
// (delay_swap_ins.h). Errors: RESOURCE_EXHAUSTED when no plan fits: names the
// node whose working set is the floor, the bytes missing, and the smallest
// budget that would do; for the host pool: "host swap pool exhausted: need x,
// limit y".
absl::StatusOr<ExecutionPlan> CompilePlan(const Graph& graph,
                                          const OpRegistry& ops,
                                          const Schedule& schedule,
                                          const CompileOptions& options);

// The plans that differ by options.placement.index, of which at most `max` are
// made. Empty if no placement by expected times fits. Errors: as CompilePlan.
absl::StatusOr<std::vector<ExecutionPlan>> CompileByTime(
    const Graph& graph, const OpRegistry& ops, const Schedule& schedule,
    const CompileOptions& options, size_t max);

// The least device budget that CompilePlan accepts with these options, budgets
// apart; it accepts every larger one too.
int64_t SmallestDeviceBudget(const Graph& graph, const OpRegistry& ops,
                             const Schedule& schedule,
                             const CompileOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_COMPILE_H_
