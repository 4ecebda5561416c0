#include "tools/spillway/simulation.h"

#include <utility>

#include "base/status_macros.h"
#include "ops/all_ops.h"

namespace spillway {

absl::StatusOr<Simulation> Simulate(const PlanSpec& spec,
                                    std::optional<TimedSchedule> order) {
  const Graph& graph = *spec.graph;
  Simulation simulation;
  PlanInputs& inputs = simulation.inputs;
  SPILLWAY_ASSIGN_OR_RETURN(inputs, PreparePlan(spec));
  if (order) {
    SPILLWAY_RETURN_IF_ERROR(
        CheckSchedule(graph, NodesToRun(graph, StandardOps(), spec.fetches),
                      order->schedule));
    inputs.schedule = std::move(order->schedule);
    inputs.options.placement = std::move(order->placement);
  }
  simulation.floor =
      FindFloor(graph, StandardOps(), inputs.schedule, inputs.options);
  absl::StatusOr<ExecutionPlan> plan = MakePlan(graph, inputs);
  if (absl::IsResourceExhausted(plan.status())) {
    simulation.fits = plan.status();
    inputs.options.device_budget_bytes.reset();
    inputs.options.placement.within_bytes.reset();
    inputs.options.host_budget_bytes.reset();
    plan = MakePlan(graph, inputs);
  }
  SPILLWAY_ASSIGN_OR_RETURN(simulation.plan, std::move(plan));
  return simulation;
}

}  // namespace spillway
