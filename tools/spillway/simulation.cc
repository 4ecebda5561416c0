#include "tools/spillway/simulation.h"

#include <utility>

#include "base/status_macros.h"
#include "ops/all_ops.h"
#include "tools/spillway/step_plan.h"

namespace spillway {

absl::StatusOr<Simulation> Simulate(const SourceGraph& source,
                                    const DeviceFlags& device,
                                    const MemoryFlags& memory) {
  ASSIGN_OR_RETURN(PlanInputs inputs,
                   PreparePlan(source.graph, source.fetches, device, memory));
  Simulation simulation;
  simulation.floor =
      FindFloor(source.graph, StandardOps(), inputs.schedule, inputs.options);
  simulation.smallest_budget_bytes = inputs.smallest_device_bytes;
  absl::StatusOr<ExecutionPlan> plan = MakePlan(source.graph, inputs);
  if (absl::IsResourceExhausted(plan.status())) {
    simulation.fits = plan.status();
    inputs.options.device_budget_bytes.reset();
    inputs.options.host_budget_bytes.reset();
    plan = MakePlan(source.graph, inputs);
  }
  ASSIGN_OR_RETURN(simulation.plan, std::move(plan));
  return simulation;
}

}  // namespace spillway
