// The time that the host and its threads take in addition to kernels and
// copies, for a device profile.
#ifndef SPILLWAY_TUNER_PROFILE_MEASURE_HOST_H_
#define SPILLWAY_TUNER_PROFILE_MEASURE_HOST_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "executor/device/device.h"

namespace spillway {

// Nanoseconds in which the host issues one step of a plan: a task and an event.
absl::StatusOr<int64_t> MeasureIssueNs(Device& device);

// Nanoseconds from an event of one stream until another stream that slept while
// it waited for the event continues.
absl::StatusOr<int64_t> MeasureWakeNs(Device& device);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_MEASURE_HOST_H_
