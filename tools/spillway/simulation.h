// One step planned under a budget, whether it fits or not.
#ifndef SPILLWAY_TOOLS_SPILLWAY_SIMULATION_H_
#define SPILLWAY_TOOLS_SPILLWAY_SIMULATION_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/plan/floor.h"
#include "executor/plan/plan.h"
#include "tools/spillway/step_plan.h"

namespace spillway {

struct Simulation {
  absl::Status fits;   // or RESOURCE_EXHAUSTED, with what is missing
  ExecutionPlan plan;  // where it does not fit: the smallest there is
  MemoryFloor floor;
  PlanInputs inputs;
};

// `order`: of the nodes, if it was decided already. Errors: as PreparePlan and
// MakePlan, but for what is in `fits`.
absl::StatusOr<Simulation> Simulate(const PlanSpec& spec,
                                    std::optional<TimedSchedule> order = {});

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_SIMULATION_H_
