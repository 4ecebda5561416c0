#include "lms/tflms/limits.h"

#include <cmath>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "lms/v2/roles.h"

namespace spillway {
namespace {

absl::Status CheckLimits(const TflmsLimits& limits) {
  if (limits.device_bytes <= 0) {
    return InvalidArgument(
        fmt::format("the device memory to tune for is {} bytes; it must be "
                    "more than 0",
                    limits.device_bytes));
  }
  if (!(limits.memory_ratio > 0 && limits.memory_ratio <= 1)) {
    return InvalidArgument(fmt::format(
        "lms_sim_mem_ratio is {}; it must be more than 0 and at most 1",
        limits.memory_ratio));
  }
  if (limits.host_bytes < 0) {
    return InvalidArgument(
        fmt::format("the host memory to tune for is {} bytes; it must not be "
                    "negative",
                    limits.host_bytes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> CapacityBytes(const TflmsLimits& limits,
                                      const Graph& graph) {
  SPILLWAY_RETURN_IF_ERROR(CheckLimits(limits));
  const int64_t variable_bytes = TrainableBytes(graph);
  if (variable_bytes >= limits.device_bytes) {
    return ResourceExhausted(
        fmt::format("the trainable variables of {} bytes leave nothing of the "
                    "device's {} bytes",
                    variable_bytes, limits.device_bytes));
  }
  const int64_t rest = limits.device_bytes - variable_bytes;
  return static_cast<int64_t>(
      std::ceil(static_cast<double>(rest) * limits.memory_ratio));
}

}  // namespace spillway
