// The classic policies (tuner/policies/policies.h) for a user's step, with the
// kernels, budgets and profile that the tuner would have.
#ifndef SPILLWAY_TUNER_TUNE_POLICY_H_
#define SPILLWAY_TUNER_TUNE_POLICY_H_

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tuner/policies/policies.h"
#include "tuner/tune.h"

namespace spillway {

// One policy. Each kernel takes the fastest algorithm that options.algorithms
// allows. options.lms only says what is never recomputed. Errors: as
// PreparePlan and EvaluatePolicy; none if the policy does not fit.
absl::StatusOr<EvaluatedPolicy> TuneStepAsPolicy(const TuningSpec& spec,
                                                 std::string_view name);

// All policies, likewise.
absl::StatusOr<std::vector<PolicyResult>> ComparePoliciesOf(
    const TuningSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_TUNE_POLICY_H_
