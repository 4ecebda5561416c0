#include "tuner/tune_policy.h"

#include "base/status_macros.h"
#include "tuner/what_if/step_inputs.h"

namespace spillway {

absl::StatusOr<EvaluatedPolicy> TuneStepAsPolicy(const TuningSpec& spec,
                                                 std::string_view name) {
  StepInputs prepared;
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
  StepInputs prepared;
  SPILLWAY_RETURN_IF_ERROR(prepared.Prepare(spec));
  return ComparePolicies(prepared.Inputs(spec));
}

}  // namespace spillway
