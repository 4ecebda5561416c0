// Memory limits of this process, as set by `ulimit -v` and `ulimit -d`.
#ifndef SPILLWAY_EXECUTOR_DEVICE_PROCESS_MEMORY_H_
#define SPILLWAY_EXECUTOR_DEVICE_PROCESS_MEMORY_H_

#include <string>

#include "executor/device/memory_limit.h"

namespace spillway {

// The soft limits of the address space and of the data, and the bytes that this
// process has mapped (/proc/self/limits, /proc/self/status). Mapped bytes count
// even if unused, for example those of libraries and thread stacks. `root` is
// prepended to /proc, for tests. A file that is missing or damaged counts as no
// limit.
MemoryLimit ReadProcessMemory(const std::string& root = "");

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_PROCESS_MEMORY_H_
