// The inputs of CompilePlan and its parts besides the graph: what to keep, the
// budgets, and decisions of the tuner.
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

// Offsets of resident buffers, each in the space of its node, by node name;
// programs that share variables share the layout.
struct ResidentLayout {
  std::map<std::string, int64_t, std::less<>> offsets = {};
  int64_t bytes = 0;       // on the device, aligned
  int64_t host_bytes = 0;  // aligned
};

// How the buffers of an evaluated step (tuner/model/evaluate.h) were placed, so
// that CompilePlan can repeat the placement.
struct TimedPlacement {
  // When each node is expected to run, ns from the start of the step; empty:
  // unknown. Buffers are then placed for little waiting, if such a placement
  // fits the device budget, and swap-ins are issued when their bytes are free
  // (place_by_time.h).
  IdMap<NodeId, Interval> expected_ns = {};
  // Which of the placements found by time to use; they are in order of expected
  // waiting.
  size_t index = 0;
  // The device budget of the evaluated step, if it is below the current budget.
  std::optional<int64_t> within_bytes = {};
  // Whether the step may use the current budget if it does not fit
  // within_bytes, for example because kernels need more workspace than in the
  // evaluated step.
  bool may_exceed_within = false;
};

// An order of the nodes that was chosen by the tuner
// (tuner/model/step_recipe.h).
struct TimedSchedule {
  Schedule schedule = {};
  TimedPlacement placement = {};
};

struct CompileOptions {
  // Values to keep until the end of the step.
  std::vector<ValueId> fetches = {};
  // Workspace of each node (executor/kernel_registry.h); empty: none.
  IdMap<NodeId, int64_t> workspace_bytes = {};
  // Hard limits; nothing: as little memory as the schedule allows if every
  // swap-in runs as soon as its trigger is done, and two collectives at a time
  // have what they use.
  std::optional<int64_t> device_budget_bytes = {};
  std::optional<int64_t> host_budget_bytes = {};
  ResidentLayout residents = {};
  std::string constant_prefix = {};
  TimedPlacement placement = {};
};

// The device budget to meet: the smallest of those in `options`; nothing if
// there is no budget.
std::optional<int64_t> TightestDeviceBudget(const CompileOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_COMPILE_OPTIONS_H_
