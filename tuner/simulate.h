// Plans one step and simulates it on the machine of a device profile: exact
// bytes, predicted time, and whether it fits. Runs nothing.
//
//   SPILLWAY_ASSIGN_OR_RETURN(const StepPrediction predicted, Simulate(
//       {.graph = graph, .fetches = {loss}}, {.profile = "h200_pcie5"}));
//   predicted.fits.ok(), predicted.plan.device_bytes, predicted.step.step_ns
#ifndef SPILLWAY_TUNER_SIMULATE_H_
#define SPILLWAY_TUNER_SIMULATE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/plan/floor.h"
#include "executor/plan/plan.h"
#include "executor/session/session.h"
#include "simulator/device_profile.h"
#include "simulator/simulator.h"
#include "tuner/bound/lower_bound.h"
#include "tuner/choose_step.h"
#include "tuner/prepare_step.h"
#include "tuner/step_options.h"

namespace spillway {

struct StepPrediction {
  // OK, or RESOURCE_EXHAUSTED with the shortage.
  absl::Status fits = {};
  // Edited graph, order, algorithms and budgets.
  ChosenStep chosen = {};
  ExecutionPlan plan = {};  // if it does not fit: the smallest one
  MemoryFloor floor = {};   // the largest working set of one node
  // Device memory that suffices, in the memory-saving order, or in creation
  // order if the options ask for it.
  int64_t smallest_device_bytes = 0;
  std::string profile = {};  // its name
  SimulatedStep step = {};   // times, stalls, and the timeline with memory
  StepTimeBound bound = {};  // no plan with this order and budget is faster
};

// `program`: without swaps; options.lms or options.plan decides the swaps. A
// named profile stands for a machine: its memory is the budget, unless another
// budget is given. Nodes without kernels (plan-only) take their stated costs.
// Errors: as ChooseStep, except for the one in `fits`.
absl::StatusOr<StepPrediction> Simulate(const Program& program,
                                        const StepOptions& options);

// Simulates the plan with the kernel times that the profile has or estimates
// for the named algorithms.
SimulatedStep PlayStep(const Graph& graph, const ExecutionPlan& plan,
                       const AlgorithmNames& algorithms, const OpRegistry& ops,
                       const DeviceProfile& profile);

// No plan with this order and budget is faster. `original`: the graph for which
// the step was chosen. Errors: as PreparePlan.
absl::StatusOr<StepTimeBound> BoundOfChosen(const Graph& original,
                                            const ChosenStep& chosen,
                                            const DeviceProfile& profile);

// --- Only the plan ---

struct StepFit {
  absl::Status fits = {};   // as StepPrediction::fits
  ExecutionPlan plan = {};  // if it does not fit: the smallest one
  MemoryFloor floor = {};
  PlanInputs inputs = {};
};

// `order`: of the nodes, if already decided. Errors: as PreparePlan and
// MakePlan, except for the one in `fits`.
absl::StatusOr<StepFit> FitStep(const PlanSpec& spec,
                                std::optional<TimedSchedule> order = {});

// The same for a chosen step.
absl::StatusOr<StepFit> FitStep(const ChosenStep& chosen,
                                const DeviceProfile& profile);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SIMULATE_H_
