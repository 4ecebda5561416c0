#include "tuner/what_if/step_inputs.h"

#include <utility>

#include "base/status_macros.h"
#include "graph/order/schedule.h"
#include "simulator/cost_model.h"

namespace spillway {

absl::Status StepInputs::Prepare(const TuningSpec& spec,
                                 const AlgorithmNames* algorithms) {
  StepOptions options = *spec.options;
  options.schedule = ScheduleKind::kCreation;
  options.lms.mode = LmsMode::kAuto;
  options.lms.recompute.policy = RecomputePolicy::kAuto;
  const PlanSpec plan_spec = {.graph = spec.graph,
                              .fetches = spec.fetches,
                              .options = &options,
                              .profile = spec.profile};
  SPILLWAY_ASSIGN_OR_RETURN(plan_, PreparePlan(plan_spec));
  if (algorithms != nullptr) {
    algorithms_ = *algorithms;
    algorithms_.resize(spec.graph->num_nodes());
  } else {
    if (options.algorithms == AlgorithmChoice::kFirst) plan_.algorithms = {};
    KeepFastest(plan_.algorithms);
    algorithms_ = LimitedChoices(plan_.algorithms).front().names;
  }
  plan_.options.workspace_bytes.resize(spec.graph->num_nodes(), 0);
  SetWorkspaces(plan_.algorithms, algorithms_, plan_.options.workspace_bytes);
  keep_ = NodesToRun(*spec.graph, *options.ops, spec.fetches);
  kernel_ns_ = EstimateKernelTimes(*spec.graph, *options.ops, *spec.profile,
                                   algorithms_);
  SPILLWAY_ASSIGN_OR_RETURN(choices_, PrepareChoices(plan_spec));
  return absl::OkStatus();
}

TunerInputs StepInputs::Inputs(const TuningSpec& spec) const {
  return {.graph = *spec.graph,
          .ops = *spec.options->ops,
          .keep = keep_,
          .compile = plan_.options,
          .kernel_ns = kernel_ns_,
          .profile = *spec.profile,
          .choices = choices_ ? &*choices_ : nullptr};
}

}  // namespace spillway
