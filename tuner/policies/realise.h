// Realises policies: compiles their plans within the budget, verifies and
// simulates them.
#ifndef SPILLWAY_TUNER_POLICIES_REALISE_H_
#define SPILLWAY_TUNER_POLICIES_REALISE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "lms/options.h"
#include "tuner/model/evaluate.h"
#include "tuner/model/materialize.h"
#include "tuner/model/recompute_space.h"

namespace spillway {

// What a policy chooses within a budget; nullopt: it finds nothing that fits.
using FatesPolicy = std::optional<Fates> (*)(const RecomputeSpace& space,
                                             int64_t budget_bytes);

// Borrows everything for the call.
struct PolicyCase {
  const TunerInputs& inputs;    // with a device budget
  const RecomputeSpace& space;  // in the order in which the policies run
};

// All functions are deterministic. Errors: RESOURCE_EXHAUSTED if the policy
// does not fit; errors of the policy, such as that it does not know the graph's
// phases; INTERNAL if an edit changes what the graph computes.

// The policy chooses within the budget. If its fates need more bytes than it
// believes, or its buffers cannot be placed, it chooses again within a slightly
// smaller one, up to 12 % smaller.
// `swaps_rest`: if its fates do not fit, further tensors are swapped by
// Belady's rule (tuner/fates/joint_player.h).
absl::StatusOr<EvaluatedRecipe> RealiseFates(const PolicyCase& policy_case,
                                             FatesPolicy policy,
                                             bool swaps_rest);

// The search for tensors to swap (tuner/search/swap_search.h), likewise.
absl::StatusOr<EvaluatedRecipe> RealiseSwapSearch(
    const PolicyCase& policy_case);

// The fastest of at most 20 usual sets of this version of TFLMS
// (tuner/search/tflms_sets.h). `mode`: kV1 or kV2.
absl::StatusOr<EvaluatedRecipe> RealiseUsualSets(const PolicyCase& policy_case,
                                                 LmsMode mode);

// What TFLMS's own search chooses (lms/tflms/search.h), compiled by Spillway.
absl::StatusOr<EvaluatedRecipe> RealiseTflms(const PolicyCase& policy_case);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_REALISE_H_
