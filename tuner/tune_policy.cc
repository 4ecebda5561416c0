#include "tuner/tune_policy.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "simulator/cost_model.h"
#include "tuner/prepare_choices.h"
#include "tuner/prepare_step.h"

namespace spillway {
namespace {

// The inputs of the policies, and what they borrow.
class PolicyInputs {
 public:
  absl::Status Prepare(const TuningSpec& spec) {
    StepOptions options = *spec.options;
    options.schedule = ScheduleKind::kCreation;
    options.lms.mode = LmsMode::kAuto;
    options.lms.recompute.policy = RecomputePolicy::kAuto;
    const PlanSpec plan_spec = {.graph = spec.graph,
                                .fetches = spec.fetches,
                                .options = &options,
                                .profile = spec.profile};
    SPILLWAY_ASSIGN_OR_RETURN(plan_, PreparePlan(plan_spec));
    if (options.algorithms == AlgorithmChoice::kFirst) plan_.algorithms = {};
    KeepFastest(plan_.algorithms);
    algorithms_ = LimitedChoices(plan_.algorithms).front().names;
    plan_.options.workspace_bytes.resize(spec.graph->num_nodes(), 0);
    SetWorkspaces(plan_.algorithms, algorithms_, plan_.options.workspace_bytes);
    keep_ = NodesToRun(*spec.graph, *options.ops, spec.fetches);
    kernel_ns_ = EstimateKernelTimes(*spec.graph, *options.ops, *spec.profile,
                                     algorithms_);
    SPILLWAY_ASSIGN_OR_RETURN(choices_, PrepareChoices(plan_spec));
    return absl::OkStatus();
  }

  TunerInputs Inputs(const TuningSpec& spec) const {
    return {.graph = *spec.graph,
            .ops = *spec.options->ops,
            .keep = keep_,
            .compile = plan_.options,
            .kernel_ns = kernel_ns_,
            .profile = *spec.profile,
            .choices = &*choices_};
  }

  const AlgorithmNames& algorithms() const { return algorithms_; }

 private:
  PlanInputs plan_;
  AlgorithmNames algorithms_;
  IdMap<NodeId, bool> keep_;
  IdMap<NodeId, int64_t> kernel_ns_;
  std::optional<RecomputeChoices> choices_;
};

}  // namespace

absl::StatusOr<EvaluatedPolicy> TuneStepAsPolicy(const TuningSpec& spec,
                                                 std::string_view name) {
  PolicyInputs prepared;
  SPILLWAY_RETURN_IF_ERROR(prepared.Prepare(spec));
  SPILLWAY_ASSIGN_OR_RETURN(EvaluatedPolicy evaluated,
                            EvaluatePolicy(prepared.Inputs(spec), name));
  if (evaluated.chosen) {
    evaluated.chosen->recipe.algorithms = prepared.algorithms();
  }
  return evaluated;
}

absl::StatusOr<std::vector<PolicyResult>> ComparePoliciesOf(
    const TuningSpec& spec) {
  PolicyInputs prepared;
  SPILLWAY_RETURN_IF_ERROR(prepared.Prepare(spec));
  return ComparePolicies(prepared.Inputs(spec));
}

}  // namespace spillway
