// Memory limits of this process: what `ulimit -v` and `ulimit -d` set.
#ifndef SPILLWAY_EXECUTOR_DEVICE_PROCESS_MEMORY_H_
#define SPILLWAY_EXECUTOR_DEVICE_PROCESS_MEMORY_H_

#include <cstdint>
#include <optional>
#include <string>

namespace spillway {

// Bytes; none: no limit.
struct ProcessMemory {
  std::optional<int64_t> limit_bytes = {};  // the smaller
  std::optional<int64_t> free_bytes = {};   // the less below its limit
};

// The soft limits of the address space and of the data, beside what this
// process has mapped (/proc/self/limits, /proc/self/status). Mapped bytes count
// whether they are used or not: libraries and the stacks of threads do. `root`
// is put before /proc, for tests. A file that is missing or damaged is no
// limit.
ProcessMemory ReadProcessMemory(const std::string& root = "");

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_PROCESS_MEMORY_H_
