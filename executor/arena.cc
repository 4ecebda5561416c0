#include "executor/arena.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace spillway {

absl::StatusOr<Arena> Arena::Create(Device& device, MemorySpace space,
                                    int64_t bytes) {
  SPILLWAY_CHECK(bytes >= 0);
  Arena arena;
  if (bytes > 0) {
    SPILLWAY_ASSIGN_OR_RETURN(arena.memory_, device.Allocate(space, bytes));
  }
  return arena;
}

void* Arena::Use(int64_t offset, int64_t bytes) {
  SPILLWAY_CHECK(offset >= 0 && bytes >= 0 && offset <= num_bytes() - bytes);
  if (bytes == 0) return nullptr;
  high_water_bytes_ = std::max(high_water_bytes_, offset + bytes);
  return memory_->data() + offset;
}

std::span<std::byte> Arena::bytes() const {
  if (memory_ == nullptr) return {};
  return {memory_->data(), static_cast<size_t>(memory_->num_bytes())};
}

}  // namespace spillway
