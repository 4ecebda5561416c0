// The activations that ops with an attribute `activation` compute.
#ifndef SPILLWAY_OPS_COMMON_FUSED_ACTIVATION_H_
#define SPILLWAY_OPS_COMMON_FUSED_ACTIVATION_H_

#include <cstdint>

namespace spillway {

// y as it is, max(y, 0), or min(max(y, 0), 6).
enum class FusedActivation : uint8_t { kNone, kRelu, kRelu6 };

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_FUSED_ACTIVATION_H_
