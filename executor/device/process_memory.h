// Memory limits of this process, as set by `ulimit -v` and `ulimit -d`.
#ifndef SPILLWAY_EXECUTOR_DEVICE_PROCESS_MEMORY_H_
#define SPILLWAY_EXECUTOR_DEVICE_PROCESS_MEMORY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "executor/device/memory_limit.h"

namespace spillway {

// The soft limits of the address space and of the data, and the bytes that this
// process has mapped (/proc/self/limits, /proc/self/status). Mapped bytes count
// even if unused, for example those of libraries and thread stacks. `root` is
// prepended to /proc, for tests. A file that is missing or damaged counts as no
// limit.
MemoryLimit ReadProcessMemory(const std::string& root = "");

// RESOURCE_EXHAUSTED unless this process may map `bytes` more; `purpose`
// completes "and needs 8 MiB". For libraries that end with a signal if they
// get no memory. Without limits, it costs two system calls.
absl::Status CheckMayMap(int64_t bytes, std::string_view purpose);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_PROCESS_MEMORY_H_
