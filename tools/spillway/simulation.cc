#include "tools/spillway/simulation.h"

#include <utility>

#include "base/status_macros.h"
#include "ops/all_ops.h"

namespace spillway {

absl::StatusOr<Simulation> Simulate(const SourceGraph& source,
                                    const DeviceFlags& device,
                                    const MemoryFlags& memory,
                                    std::optional<TimedSchedule> order) {
  Simulation simulation;
  PlanInputs& inputs = simulation.inputs;
  ASSIGN_OR_RETURN(inputs,
                   PreparePlan(source.graph, source.fetches, device, memory));
  if (order) {
    RETURN_IF_ERROR(CheckSchedule(
        source.graph, NodesToRun(source.graph, StandardOps(), source.fetches),
        order->schedule));
    inputs.schedule = std::move(order->schedule);
    inputs.options.placement = std::move(order->placement);
  }
  simulation.floor =
      FindFloor(source.graph, StandardOps(), inputs.schedule, inputs.options);
  absl::StatusOr<ExecutionPlan> plan = MakePlan(source.graph, inputs);
  if (absl::IsResourceExhausted(plan.status())) {
    simulation.fits = plan.status();
    inputs.options.device_budget_bytes.reset();
    inputs.options.placement.within_bytes.reset();
    inputs.options.host_budget_bytes.reset();
    plan = MakePlan(source.graph, inputs);
  }
  ASSIGN_OR_RETURN(simulation.plan, std::move(plan));
  return simulation;
}

}  // namespace spillway
