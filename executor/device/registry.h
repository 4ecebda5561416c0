// Creates devices by name.
#ifndef SPILLWAY_EXECUTOR_DEVICE_REGISTRY_H_
#define SPILLWAY_EXECUTOR_DEVICE_REGISTRY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/device/device.h"

namespace spillway {

struct DeviceOptions {
  // Threads of kernels on the host; results may differ in rounding between
  // numbers of threads. 0: one for each core that this process may run on.
  int threads = 0;
  // Limit of the device memory that may be allocated; 0: the machine's free
  // memory.
  int64_t capacity_bytes = 0;
  // Slows copies of the cpu and inline devices to this many gigabytes (1e9
  // bytes) per second in each direction; 0: full speed.
  double link_gigabytes_per_second = 0;
};

// `name`: "inline", "cpu", "cuda" or "cuda:N"; "" picks cuda if the program
// links spillway::cuda and the machine has a GPU, else cpu. Errors:
// INVALID_ARGUMENT for another name, UNAVAILABLE with the reason for a device
// that this program or machine lacks.
absl::StatusOr<std::unique_ptr<Device>> NewDevice(std::string_view name,
                                                  const DeviceOptions& options);

// The number of the GPU "cuda" (0), "cuda:0", "cuda:12"; nothing for other
// names.
std::optional<int> CudaIndex(std::string_view name);

// INVALID_ARGUMENT for a number of threads that is neither 0 (automatic) nor 1
// to 4096.
absl::Status CheckThreads(int threads);

// The number of threads that `threads` means; `threads` must pass CheckThreads.
int ResolveThreads(int threads);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_REGISTRY_H_
