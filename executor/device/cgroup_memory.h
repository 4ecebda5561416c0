// Memory limits of the control groups (containers) that this process is in.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CGROUP_MEMORY_H_
#define SPILLWAY_EXECUTOR_DEVICE_CGROUP_MEMORY_H_

#include <string>

#include "executor/device/memory_limit.h"

namespace spillway {

// Limits of the process's own group and of all its ancestors that are mounted,
// in version 1 (memory.limit_in_bytes), version 2 (memory.max) or both. Used
// bytes exclude file pages that the system can drop at once (inactive_file).
// `root` is prepended to /proc and /sys, for tests. A file that is missing or
// damaged counts as no limit and no usage.
MemoryLimit ReadCgroupMemory(const std::string& root = "");

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CGROUP_MEMORY_H_
