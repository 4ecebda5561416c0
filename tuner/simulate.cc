#include "tuner/simulate.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "executor/plan/explain_timeline.h"
#include "executor/session/plan_programs.h"
#include "lms/lms.h"
#include "simulator/cost_model.h"
#include "simulator/memory_over_time.h"
#include "tuner/prepare_choices.h"
#include "tuner/profile/resolve_profile.h"
#include "tuner/tune.h"

namespace spillway {
namespace {

// For every plan; but clones of a fixed policy are part of the work.
absl::StatusOr<StepTimeBound> BoundOf(const Graph& original,
                                      const ChosenStep& chosen,
                                      const PlanInputs& inputs,
                                      const DeviceProfile& profile) {
  const OpRegistry& ops = *chosen.options.ops;
  const RecomputePlan& clones = chosen.edit.recompute;
  if (Recomputes(chosen.lms)) {
    SPILLWAY_ASSIGN_OR_RETURN(const Graph recomputed,
                              WithClones(clones, ops, original));
    return BoundFor(recomputed, inputs, ops, profile);
  }
  StepOptions options = chosen.options;
  // A plan file does not say how its clones were chosen.
  if (!clones.clones.empty()) options.lms = LmsOptions::Auto();
  SPILLWAY_ASSIGN_OR_RETURN(const std::optional<RecomputeChoices> choices,
                            PrepareChoices({.graph = &original,
                                            .fetches = chosen.fetches,
                                            .options = &options,
                                            .profile = &profile}));
  return BoundFor(original, inputs, ops, profile,
                  choices ? &*choices : nullptr);
}

}  // namespace

absl::StatusOr<StepFit> FitStep(const PlanSpec& spec,
                                std::optional<TimedSchedule> order) {
  const Graph& graph = *spec.graph;
  const OpRegistry& ops = *spec.options->ops;
  StepFit fit;
  PlanInputs& inputs = fit.inputs;
  SPILLWAY_ASSIGN_OR_RETURN(inputs, PreparePlan(spec));
  if (order) {
    SPILLWAY_RETURN_IF_ERROR(CheckSchedule(
        graph, NodesToRun(graph, ops, spec.fetches), order->schedule));
    inputs.schedule = std::move(order->schedule);
    inputs.options.placement = std::move(order->placement);
  }
  fit.floor = FindFloor(graph, ops, inputs.schedule, inputs.options);
  absl::StatusOr<ExecutionPlan> plan = MakePlan(graph, inputs, ops);
  if (absl::IsResourceExhausted(plan.status())) {
    fit.fits = plan.status();
    inputs.options.device_budget_bytes.reset();
    inputs.options.placement.within_bytes.reset();
    inputs.options.host_budget_bytes.reset();
    plan = MakePlan(graph, inputs, ops);
  }
  SPILLWAY_ASSIGN_OR_RETURN(fit.plan, std::move(plan));
  return fit;
}

absl::StatusOr<StepFit> FitStep(const ChosenStep& chosen,
                                const DeviceProfile& profile) {
  return FitStep({.graph = &chosen.graph,
                  .fetches = chosen.fetches,
                  .options = &chosen.options,
                  .profile = &profile,
                  .algorithms = chosen.algorithms},
                 chosen.order);
}

SimulatedStep PlayStep(const Graph& graph, const ExecutionPlan& plan,
                       const AlgorithmNames& algorithms, const OpRegistry& ops,
                       const DeviceProfile& profile) {
  return SimulateStep(plan, graph,
                      EstimateKernelTimes(graph, ops, profile, algorithms),
                      profile);
}

absl::StatusOr<StepTimeBound> BoundOfChosen(const Graph& original,
                                            const ChosenStep& chosen,
                                            const DeviceProfile& profile) {
  SPILLWAY_ASSIGN_OR_RETURN(PlanInputs inputs,
                            PreparePlan({.graph = &chosen.graph,
                                         .fetches = chosen.fetches,
                                         .options = &chosen.options,
                                         .profile = &profile,
                                         .algorithms = chosen.algorithms}));
  if (chosen.order) inputs.schedule = chosen.order->schedule;
  return BoundOf(original, chosen, inputs, profile);
}

absl::StatusOr<StepPrediction> Simulate(const Program& program,
                                        const StepOptions& given) {
  SPILLWAY_RETURN_IF_ERROR(CheckStepOptions(given));
  SPILLWAY_RETURN_IF_ERROR(CheckUndecided(program));
  StepOptions options = given;
  SPILLWAY_ASSIGN_OR_RETURN(const DeviceProfile profile,
                            ResolveProfile(options));
  options.warns_of_profile = false;
  options.device_memory = BudgetFor(options, profile);
  options.host_memory = HostBudgetFor(options, profile);
  StepPrediction predicted = {.profile = profile.name};
  SPILLWAY_ASSIGN_OR_RETURN(predicted.chosen,
                            ChooseStep({.graph = &program.graph,
                                        .fetches = program.fetches,
                                        .options = options,
                                        .is_only_predicted = true}));
  const ChosenStep& chosen = predicted.chosen;
  SPILLWAY_ASSIGN_OR_RETURN(StepFit fit, FitStep(chosen, profile));
  SPILLWAY_ASSIGN_OR_RETURN(
      predicted.smallest_device_bytes,
      SmallestDeviceMemory(chosen.graph, fit.inputs, chosen.options));
  const OpRegistry& ops = *options.ops;
  predicted.step =
      PlayStep(chosen.graph, fit.plan, chosen.algorithms, ops, profile);
  AddMemoryCounters(fit.plan, predicted.step);
  ExplainTimeline(fit.plan, chosen.graph, predicted.step.timeline);
  SPILLWAY_ASSIGN_OR_RETURN(
      predicted.bound, BoundOf(program.graph, chosen, fit.inputs, profile));
  predicted.fits = std::move(fit.fits);
  predicted.floor = fit.floor;
  predicted.plan = std::move(fit.plan);
  return predicted;
}

}  // namespace spillway
