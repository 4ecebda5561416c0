// How much memory the machine has, and the error of asking for more.
#ifndef SPILLWAY_EXECUTOR_DEVICE_FREE_MEMORY_H_
#define SPILLWAY_EXECUTOR_DEVICE_FREE_MEMORY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/device/device.h"

namespace spillway {

// Of the host, available without swapping. Errors: UNAVAILABLE if the system
// does not say.
absl::StatusOr<int64_t> MachineFreeBytes();

// RESOURCE_EXHAUSTED: "n bytes of device memory asked, m bytes free".
absl::Status OutOfMemory(MemorySpace space, int64_t asked, int64_t free);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_FREE_MEMORY_H_
