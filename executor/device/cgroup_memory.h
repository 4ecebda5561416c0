// Memory limits of the control groups (containers) that this process is in.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CGROUP_MEMORY_H_
#define SPILLWAY_EXECUTOR_DEVICE_CGROUP_MEMORY_H_

#include <string>

#include "executor/device/memory_limit.h"

namespace spillway {

// Of the process's own group and of all its ancestors that are mounted, in
// version 1 (memory.limit_in_bytes), version 2 (memory.max) or both. What is in
// use does not count the files' pages that the system can drop at once
// (inactive_file). `root` is put before /proc and /sys, for tests. A file that
// is missing or damaged says nothing: it is no limit, and no use.
MemoryLimit ReadCgroupMemory(const std::string& root = "");

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CGROUP_MEMORY_H_
