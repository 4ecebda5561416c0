// Memory limits of this process: what `ulimit -v` and `ulimit -d` set.
#ifndef SPILLWAY_EXECUTOR_DEVICE_PROCESS_MEMORY_H_
#define SPILLWAY_EXECUTOR_DEVICE_PROCESS_MEMORY_H_

#include <string>

#include "executor/device/memory_limit.h"

namespace spillway {

// The soft limits of the address space and of the data, beside what this
// process has mapped (/proc/self/limits, /proc/self/status). Mapped bytes count
// whether they are used or not: libraries and the stacks of threads do. `root`
// is put before /proc, for tests. A file that is missing or damaged is no
// limit.
MemoryLimit ReadProcessMemory(const std::string& root = "");

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_PROCESS_MEMORY_H_
