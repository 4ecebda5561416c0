// Arena: one allocation of a device, and the high-water mark of what was really
// used of it.
#ifndef SPILLWAY_EXECUTOR_ARENA_H_
#define SPILLWAY_EXECUTOR_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "executor/device/device.h"

namespace spillway {

// Threads: Use() is called by the issuing thread only.
class Arena {
 public:
  // One Device::Allocate of exactly `bytes` (none for 0 bytes).
  static absl::StatusOr<Arena> Create(Device& device, MemorySpace space,
                                      int64_t bytes);

  // The bytes [offset, offset + bytes), now counted as used. CHECKs bounds.
  void* Use(int64_t offset, int64_t bytes);

  // All of it, not counted as used; only where the host can address it.
  std::span<std::byte> bytes() const;

  int64_t num_bytes() const { return memory_ ? memory_->num_bytes() : 0; }
  // One past the highest byte ever handed out by Use().
  int64_t high_water_bytes() const { return high_water_bytes_; }

 private:
  std::unique_ptr<DeviceMemory> memory_;
  int64_t high_water_bytes_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_ARENA_H_
