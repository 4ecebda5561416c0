// The memory that TFLMS's simulator gives a step.
#ifndef SPILLWAY_LMS_TFLMS_LIMITS_H_
#define SPILLWAY_LMS_TFLMS_LIMITS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/units.h"
#include "graph/graph.h"

namespace spillway {

struct TflmsLimits {
  int64_t device_bytes = 0;  // > 0
  // Part of what trainable variables leave of it that tensors may take; more
  // than 0, at most 1.
  double memory_ratio = 0.9;
  int64_t host_bytes = 64_GiB;  // for copies; >= 0
};

// What the tensors of a step have to stay below, rounded up to a byte. Errors:
// INVALID_ARGUMENT for a limit out of its range; RESOURCE_EXHAUSTED where the
// trainable variables take the whole device.
absl::StatusOr<int64_t> CapacityBytes(const TflmsLimits& limits,
                                      const Graph& graph);

}  // namespace spillway

#endif  // SPILLWAY_LMS_TFLMS_LIMITS_H_
