// The table of classic policies (`tune --compare`), as text and as JSON.
#ifndef SPILLWAY_TOOLS_SPILLWAY_OUTPUT_POLICY_TABLE_H_
#define SPILLWAY_TOOLS_SPILLWAY_OUTPUT_POLICY_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/spillway/output/output.h"
#include "tuner/policies/policies.h"

namespace spillway {

// One line for each policy: whether it fits, its bytes, time and speed, what it
// moves and recomputes, and the bound of its class. `batch_size`: 0: unknown.
std::string FormatPolicies(const std::vector<PolicyResult>& policies,
                           int64_t batch_size);

// policies[]: `step_ms` is null if the policy does not fit, `bound_ms` if no
// plan of its class does.
Json PoliciesJson(const std::vector<PolicyResult>& policies);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_OUTPUT_POLICY_TABLE_H_
