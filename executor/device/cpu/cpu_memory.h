// Memory of the CPU backends. Both spaces are RAM, but the device space has its
// own limit, so that LMS on the CPU works within a budget as on a GPU.
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

// Allocates for one device and counts the bytes. Must outlive its allocations.
// Thread-safe.
class CpuMemoryPool {
 public:
  // `capacity_bytes`: limit of the device space; 0: the machine's free memory.
  explicit CpuMemoryPool(int64_t capacity_bytes)
      : capacity_bytes_(capacity_bytes) {}

  // `bytes` is positive (CHECKed). Errors: RESOURCE_EXHAUSTED with the bytes
  // asked for and the bytes free.
  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(MemorySpace space,
                                                         int64_t bytes);

  absl::StatusOr<int64_t> FreeDeviceBytes() const;
  int64_t allocations() const;

  // Called by the destructor of an allocation.
  void Release(MemorySpace space, int64_t bytes);

 private:
  // mutex_ must be held.
  absl::StatusOr<int64_t> FreeBytes(MemorySpace space) const;

  const int64_t capacity_bytes_;
  mutable std::mutex mutex_;
  int64_t live_device_bytes_ = 0;
  int64_t allocations_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CPU_CPU_MEMORY_H_
