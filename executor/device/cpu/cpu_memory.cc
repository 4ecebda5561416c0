#include "executor/device/cpu/cpu_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "executor/device/free_memory.h"

namespace spillway {
namespace {

constexpr int64_t kPageBytes = 4_KiB;
constexpr int64_t kHugePageBytes = 2_MiB;
constexpr int64_t kSmallAlignment = 256;

struct FreeDeleter {
  void operator()(std::byte* memory) const { std::free(memory); }
};

using RawMemory = std::unique_ptr<std::byte, FreeDeleter>;

class CpuMemory final : public DeviceMemory {
 public:
  CpuMemory(RawMemory memory, int64_t bytes, MemorySpace space,
            CpuMemoryPool& pool)
      : memory_(std::move(memory)), bytes_(bytes), space_(space), pool_(pool) {}
  ~CpuMemory() override { pool_.Release(space_, bytes_); }

  std::byte* data() const override { return memory_.get(); }
  int64_t num_bytes() const override { return bytes_; }

 private:
  RawMemory memory_;
  int64_t bytes_;
  MemorySpace space_;
  CpuMemoryPool& pool_;
};

// Null if the system refuses.
RawMemory AllocateTouched(int64_t bytes) {
  const bool large = bytes >= kHugePageBytes;
  const int64_t alignment = large ? kHugePageBytes : kSmallAlignment;
  const auto size = static_cast<size_t>(AlignUp(bytes, alignment));
  RawMemory memory(static_cast<std::byte*>(
      std::aligned_alloc(static_cast<size_t>(alignment), size)));
  if (memory == nullptr) return memory;
  // A hint: without huge pages the memory is only slower.
  if (large) madvise(memory.get(), size, MADV_HUGEPAGE);
  for (int64_t at = 0; at < bytes; at += kPageBytes) {
    *static_cast<volatile std::byte*>(memory.get() + at) = std::byte{0};
  }
  return memory;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceMemory>> CpuMemoryPool::Allocate(
    MemorySpace space, int64_t bytes) {
  SPILLWAY_CHECK(bytes > 0);
  const std::scoped_lock lock(mutex_);
  ++allocations_;
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t free, FreeBytes(space));
  if (bytes > free) return OutOfMemory(space, bytes, free);
  RawMemory memory = AllocateTouched(bytes);
  if (memory == nullptr) return OutOfMemory(space, bytes, free);
  if (space == MemorySpace::kDevice) live_device_bytes_ += bytes;
  return std::make_unique<CpuMemory>(std::move(memory), bytes, space, *this);
}

absl::StatusOr<int64_t> CpuMemoryPool::FreeDeviceBytes() const {
  const std::scoped_lock lock(mutex_);
  return FreeBytes(MemorySpace::kDevice);
}

int64_t CpuMemoryPool::allocations() const {
  const std::scoped_lock lock(mutex_);
  return allocations_;
}

void CpuMemoryPool::Release(MemorySpace space, int64_t bytes) {
  const std::scoped_lock lock(mutex_);
  if (space == MemorySpace::kDevice) live_device_bytes_ -= bytes;
}

absl::StatusOr<int64_t> CpuMemoryPool::FreeBytes(MemorySpace space) const {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t machine_bytes, MachineFreeBytes());
  if (space == MemorySpace::kHost || capacity_bytes_ == 0) return machine_bytes;
  return std::min(machine_bytes, capacity_bytes_ - live_device_bytes_);
}

}  // namespace spillway
