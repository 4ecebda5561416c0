// Planning one step of a graph without a session, so that plan-only graphs and
// budgets that are too small can be looked at.
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

// INVALID_ARGUMENT for a program whose order or algorithms are decided already,
// and as CheckProgram (executor/session/plan_programs.h).
absl::Status CheckUndecided(const Program& program);

// A step to be planned. Everything pointed to is borrowed.
struct PlanSpec {
  const Graph* graph = nullptr;
  std::vector<ValueId> fetches = {};
  const StepOptions* options = nullptr;
  // Whose measured algorithms count too; null: only what kernels list.
  const DeviceProfile* profile = nullptr;
  AlgorithmNames algorithms = {};
};

// What CompilePlan and FindFloor need beside the graph.
struct PlanInputs {
  Schedule schedule = {};
  CompileOptions options = {};  // with the budgets
  KnownAlgorithms algorithms = {};
};

// Prepares the kernels of the device's kind to learn their workspaces and
// algorithms; nodes without a kernel have the workspace that the graph states.
// Errors: INVALID_ARGUMENT naming a node without the algorithm that is named
// for it; what OpenDevice, MakeSchedule and a kernel say.
absl::StatusOr<PlanInputs> PreparePlan(const PlanSpec& spec);

// The fastest algorithms with which the step needs at most `budget` bytes of
// device memory, swapped no more than it is; where none do, those with the
// least workspaces. Errors: as MakeSchedule.
absl::StatusOr<AlgorithmNames> FitAlgorithms(const PlanSpec& spec,
                                             const PlanInputs& inputs,
                                             int64_t budget);

// Device memory that would do, in an order that saves memory unless the options
// ask for that of creation. Errors: as MakeSchedule.
absl::StatusOr<int64_t> SmallestDeviceMemory(const Graph& graph,
                                             const PlanInputs& inputs,
                                             const StepOptions& options);

// A verified plan.
absl::StatusOr<ExecutionPlan> MakePlan(const Graph& graph,
                                       const PlanInputs& inputs,
                                       const OpRegistry& ops);

// Copies of one step.
struct SwapCounts {
  int64_t tensors = 0;  // that are copied to the host
  int64_t swap_outs = 0;
  int64_t swap_ins = 0;
  int64_t delayed_swap_ins = 0;  // right before their reader, for the budget
  int64_t out_bytes = 0;
  int64_t in_bytes = 0;
  // Feeds that leave the device come back from the caller.
  int64_t fed_again = 0;
  int64_t fed_again_bytes = 0;
};
SwapCounts CountSwaps(const ExecutionPlan& plan);

// Of one step of program 0, as they were issued, when it has run `steps` steps;
// none if it has run none.
SwapCounts MeasuredSwaps(const Session& session, int64_t steps);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PREPARE_STEP_H_
