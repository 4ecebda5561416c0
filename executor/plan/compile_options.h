// What CompilePlan and its parts are told beside the graph: what to keep, the
// budgets, and decisions made elsewhere.
#ifndef SPILLWAY_EXECUTOR_PLAN_COMPILE_OPTIONS_H_
#define SPILLWAY_EXECUTOR_PLAN_COMPILE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/interval.h"
#include "graph/node.h"
#include "graph/order/schedule.h"

namespace spillway {

// Where resident buffers lie, by node name: programs that share variables share
// the layout.
struct ResidentLayout {
  std::map<std::string, int64_t, std::less<>> offsets = {};
  int64_t bytes = 0;  // aligned
};

// How the buffers of an evaluated step (tuner/model/evaluate.h) were placed, so
// that CompilePlan places them in the same way again.
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

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_COMPILE_OPTIONS_H_
