// Plans one step of a graph without a session, so that plan-only graphs and
// budgets that are too small can be examined.
#ifndef SPILLWAY_TUNER_PREPARE_STEP_H_
#define SPILLWAY_TUNER_PREPARE_STEP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/plan/algorithms.h"
#include "executor/plan/choose_schedule.h"
#include "executor/plan/compile_options.h"
#include "executor/plan/plan.h"
#include "executor/session/session.h"
#include "graph/graph.h"
#include "graph/order/schedule.h"
#include "simulator/device_profile.h"
#include "tuner/model/kernel_algorithms.h"
#include "tuner/step_options.h"

namespace spillway {

// INVALID_ARGUMENT for a program that already has an order or algorithms;
// errors of CheckProgram (executor/session/plan_programs.h).
absl::Status CheckUndecided(const Program& program);

// A step to plan. Borrows everything pointed to.
struct PlanSpec {
  const Graph* graph = nullptr;
  std::vector<ValueId> fetches = {};
  const StepOptions* options = nullptr;
  // Its measured algorithms are added; null: only those that kernels list.
  const DeviceProfile* profile = nullptr;
  AlgorithmNames algorithms = {};
};

// The inputs of CompilePlan and FindFloor, other than the graph.
struct PlanInputs {
  Schedule schedule = {};
  CompileOptions options = {};  // with the budgets
  KnownAlgorithms algorithms = {};
};

// Prepares the kernels of the device's kind, which tells their workspaces and
// algorithms. A node without a kernel has the workspace that the graph states.
// Errors: INVALID_ARGUMENT naming a node that does not have its named
// algorithm; errors of OpenDevice, MakeSchedule and the kernels.
absl::StatusOr<PlanInputs> PreparePlan(const PlanSpec& spec);

// The fastest algorithms with which the step needs at most `budget` bytes of
// device memory without additional swaps; if there are none, those with the
// smallest workspaces. Errors: as MakeSchedule.
absl::StatusOr<AlgorithmNames> FitAlgorithms(const PlanSpec& spec,
                                             const PlanInputs& inputs,
                                             int64_t budget);

// Device memory that suffices, in the memory-saving order, or in creation order
// if the options ask for it. Errors: as MakeSchedule.
absl::StatusOr<int64_t> SmallestDeviceMemory(const Graph& graph,
                                             const PlanInputs& inputs,
                                             const StepOptions& options);

// By program: the bytes of all variables and constants of a session with these
// programs that only other programs have, since every plan begins with the
// residents of all. Errors: as MakeSchedule.
absl::StatusOr<std::vector<int64_t>> BytesOfOtherResidents(
    const std::vector<const Program*>& programs, const OpRegistry& ops);

// A verified plan.
absl::StatusOr<ExecutionPlan> MakePlan(const Graph& graph,
                                       const PlanInputs& inputs,
                                       const OpRegistry& ops);

// Copies of one step.
struct SwapCounts {
  int64_t tensors = 0;  // that are copied to the host
  int64_t swap_outs = 0;
  int64_t swap_ins = 0;
  // Moved to right before their reader, for the budget.
  int64_t delayed_swap_ins = 0;
  int64_t out_bytes = 0;
  int64_t in_bytes = 0;
  // Feeds that leave the device come back from the caller.
  int64_t fed_again = 0;
  int64_t fed_again_bytes = 0;
};
SwapCounts CountSwaps(const ExecutionPlan& plan);

// The swaps that one step of program 0 issued, if it has run `steps` steps;
// zeros if it has run none.
SwapCounts MeasuredSwaps(const Session& session, int64_t steps);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PREPARE_STEP_H_
