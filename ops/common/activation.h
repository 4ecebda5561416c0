// The attribute `activation` of ops with a fused activation.
#ifndef SPILLWAY_OPS_COMMON_ACTIVATION_H_
#define SPILLWAY_OPS_COMMON_ACTIVATION_H_

#include "absl/status/statusor.h"
#include "graph/attributes.h"

namespace spillway {

// True for "relu", false for "none", the default. Errors: INVALID_ARGUMENT.
absl::StatusOr<bool> ReadRelu(const Attributes& attributes);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_ACTIVATION_H_
