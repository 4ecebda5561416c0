// One step, planned and played on the machine of a device profile: its bytes to
// the byte, its time by prediction, and whether it fits. Nothing runs.
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
  // OK, or RESOURCE_EXHAUSTED with what is missing.
  absl::Status fits = {};
  // Edited graph, order, algorithms and budgets.
  ChosenStep chosen = {};
  ExecutionPlan plan = {};  // where it does not fit: the smallest there is
  MemoryFloor floor = {};   // the largest working set of one node
  // Device memory that would do, in an order that saves memory unless the
  // options ask for that of creation.
  int64_t smallest_device_bytes = 0;
  std::string profile = {};  // its name
  SimulatedStep step = {};   // times, stalls, and the timeline with memory
  StepTimeBound bound = {};  // no plan in this order and budget is faster
};

// `program`: without swaps; options.lms or options.plan says what is swapped. A
// profile that is named is a machine: its memory is the budget, unless there is
// another. Nodes without kernels (plan-only) are taken by their stated costs.
// Errors: as ChooseStep, but for what is in `fits`.
absl::StatusOr<StepPrediction> Simulate(const Program& program,
                                        const StepOptions& options);

// The plan with the kernels' times that the profile knows or estimates, of the
// algorithms that are named.
SimulatedStep PlayStep(const Graph& graph, const ExecutionPlan& plan,
                       const AlgorithmNames& algorithms, const OpRegistry& ops,
                       const DeviceProfile& profile);

// No plan of this order and budget is faster. `original`: the graph that the
// step was chosen for. Errors: as PreparePlan.
absl::StatusOr<StepTimeBound> BoundOfChosen(const Graph& original,
                                            const ChosenStep& chosen,
                                            const DeviceProfile& profile);

// --- The plan alone ---

struct StepFit {
  absl::Status fits = {};   // as StepPrediction::fits
  ExecutionPlan plan = {};  // where it does not fit: the smallest there is
  MemoryFloor floor = {};
  PlanInputs inputs = {};
};

// `order`: of the nodes, if it was decided already. Errors: as PreparePlan and
// MakePlan, but for what is in `fits`.
absl::StatusOr<StepFit> FitStep(const PlanSpec& spec,
                                std::optional<TimedSchedule> order = {});

// The same for a step that was chosen.
absl::StatusOr<StepFit> FitStep(const ChosenStep& chosen,
                                const DeviceProfile& profile);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_SIMULATE_H_
