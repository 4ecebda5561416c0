// The attribute `activation` of ops with a fused activation.
#ifndef SPILLWAY_OPS_COMMON_ACTIVATION_H_
#define SPILLWAY_OPS_COMMON_ACTIVATION_H_

#include "absl/status/statusor.h"
#include "graph/attributes.h"
#include "ops/common/fused_activation.h"

namespace spillway {

// "none", the default, "relu" or "relu6". Errors: INVALID_ARGUMENT.
absl::StatusOr<FusedActivation> ReadActivation(const Attributes& attributes);

// For ops without relu6: true for "relu", false for "none", the default.
// Errors: INVALID_ARGUMENT.
absl::StatusOr<bool> ReadRelu(const Attributes& attributes);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_ACTIVATION_H_
