// A limit on the memory that a process may use, from any source.
#ifndef SPILLWAY_EXECUTOR_DEVICE_MEMORY_LIMIT_H_
#define SPILLWAY_EXECUTOR_DEVICE_MEMORY_LIMIT_H_

#include <algorithm>
#include <cstdint>
#include <optional>

namespace spillway {

// Bytes; nothing: no limit.
struct MemoryLimit {
  std::optional<int64_t> limit_bytes = {};  // the lowest limit
  std::optional<int64_t> free_bytes = {};   // the least below a limit

  // Adds a limit, of which `used_bytes` are in use.
  void Add(int64_t limit, int64_t used_bytes) {
    const int64_t free = std::max<int64_t>(0, limit - used_bytes);
    limit_bytes = std::min(limit, limit_bytes.value_or(limit));
    free_bytes = std::min(free, free_bytes.value_or(free));
  }
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_MEMORY_LIMIT_H_
