// How much memory this process may use, and the error for exceeding it.
#ifndef SPILLWAY_EXECUTOR_DEVICE_FREE_MEMORY_H_
#define SPILLWAY_EXECUTOR_DEVICE_FREE_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/units.h"
#include "executor/device/device.h"

namespace spillway {

// Memory of the host, in bytes.
struct MachineMemory {
  int64_t total_bytes = 0;  // RAM, or the smallest limit below it
  int64_t free_bytes = 0;   // available without swapping, within the limits
  bool process_is_limited = false;  // ReadProcessMemory found a limit
};

// Reads the present state from /proc/meminfo, the control groups
// (cgroup_memory.h) and the limits of this process (process_memory.h). `root`
// is prepended to every path, for tests. Errors: UNAVAILABLE if the system does
// not report it.
absl::StatusOr<MachineMemory> ReadMachineMemory(const std::string& root = "");

// Bytes that may be allocated now: ReadMachineMemory's free_bytes minus
// kKeptFreeBytes and, if the address space is limited, minus the stacks of one
// thread per core. Never negative.
absl::StatusOr<int64_t> MachineFreeBytes();

// Kept free for libraries' code and scratch.
inline constexpr int64_t kKeptFreeBytes = 64_MiB;

// RESOURCE_EXHAUSTED: "n bytes of device memory were requested, but m bytes are
// free".
absl::Status OutOfMemory(MemorySpace space, int64_t asked, int64_t free);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_FREE_MEMORY_H_
