// What the host and its threads take beside kernels and copies, for a device
// profile.
#ifndef SPILLWAY_TUNER_PROFILE_MEASURE_HOST_H_
#define SPILLWAY_TUNER_PROFILE_MEASURE_HOST_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "executor/device/device.h"

namespace spillway {

// Nanoseconds of the host to issue one step of a plan: a task and a mark.
absl::StatusOr<int64_t> MeasureIssueNs(Device& device);

// Nanoseconds from a mark of one stream until another that slept for it goes
// on.
absl::StatusOr<int64_t> MeasureWakeNs(Device& device);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_MEASURE_HOST_H_
