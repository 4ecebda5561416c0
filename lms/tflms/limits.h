// The memory that TFLMS's simulator assumes for a step.
#ifndef SPILLWAY_LMS_TFLMS_LIMITS_H_
#define SPILLWAY_LMS_TFLMS_LIMITS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/units.h"
#include "graph/graph.h"

namespace spillway {

struct TflmsLimits {
  int64_t device_bytes = 0;  // > 0
  // The fraction of the memory left by trainable variables that tensors may
  // use; more than 0, at most 1.
  double memory_ratio = 0.9;
  int64_t host_bytes = 64_GiB;  // for copies; >= 0
};

// The bytes that the tensors of a step must stay below, rounded up to a byte.
// Errors: INVALID_ARGUMENT for a limit out of range; RESOURCE_EXHAUSTED if the
// trainable variables take the whole device.
absl::StatusOr<int64_t> CapacityBytes(const TflmsLimits& limits,
                                      const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_TFLMS_LIMITS_H_
