// Arena: one allocation of a device, and the high-water mark of its used bytes.
#ifndef SPILLWAY_EXECUTOR_ARENA_H_
#define SPILLWAY_EXECUTOR_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "executor/device/device.h"

namespace spillway {

// Threads: only the issuing thread calls Use().
class Arena {
 public:
  // Calls Device::Allocate once, for exactly `bytes` (not at all for 0 bytes).
  static absl::StatusOr<Arena> Create(Device& device, MemorySpace space,
                                      int64_t bytes);

  // The bytes [offset, offset + bytes), which now count as used. CHECKs bounds.
  void* Use(int64_t offset, int64_t bytes);

  // All bytes, without counting them as used; only if the host can address
  // them.
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
