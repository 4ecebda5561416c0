// Memory of the CPU backends. Both spaces are RAM, but device memory has a wall
// of its own, so that LMS on the CPU lives within a budget as on a GPU.
//
// Every page is written once when it is allocated: a step then takes no page
// fault, and memory that the machine does not have is refused here instead of
// killing the process later.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CPU_CPU_MEMORY_H_
#define SPILLWAY_EXECUTOR_DEVICE_CPU_CPU_MEMORY_H_

#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "executor/device/device.h"

namespace spillway {

// Allocates for one device and counts. Must outlive its allocations.
// Threads: any.
class CpuMemoryPool {
 public:
  // `capacity_bytes`: wall of the device space; 0: what the machine has free.
  explicit CpuMemoryPool(int64_t capacity_bytes)
      : capacity_bytes_(capacity_bytes) {}

  // `bytes` is positive (CHECKed). Errors: RESOURCE_EXHAUSTED with bytes asked
  // and bytes free.
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(MemorySpace space,
                                                         int64_t bytes);

  absl::StatusOr<int64_t> FreeDeviceBytes() const;
  int64_t allocations() const;

  // For the destructor of an allocation.
  void Release(MemorySpace space, int64_t bytes);

 private:
  // With mutex_ held.
  absl::StatusOr<int64_t> FreeBytes(MemorySpace space) const;

  const int64_t capacity_bytes_;
  mutable std::mutex mutex_;
  int64_t live_device_bytes_ = 0;
  int64_t allocations_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CPU_CPU_MEMORY_H_
