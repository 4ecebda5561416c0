// How much memory this process may use, and the error of asking for more.
#ifndef SPILLWAY_EXECUTOR_DEVICE_FREE_MEMORY_H_
#define SPILLWAY_EXECUTOR_DEVICE_FREE_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/units.h"
#include "executor/device/device.h"

namespace spillway {

// Of the host, in bytes.
struct MachineMemory {
  int64_t total_bytes = 0;  // RAM, or the smallest limit below it
  int64_t free_bytes = 0;   // available without swapping, within the limits
  bool process_is_limited = false;  // ReadProcessMemory found a limit
};

// Read at this moment from /proc/meminfo, the control groups (cgroup_memory.h)
// and the limits of this process (process_memory.h). `root` is put before every
// path, for tests. Errors: UNAVAILABLE if the system does not say.
absl::StatusOr<MachineMemory> ReadMachineMemory(const std::string& root = "");

// What may be allocated at this moment: ReadMachineMemory's free_bytes but for
// kKeptFreeBytes, and for the stacks of this machine's threads where the
// address space is limited. Never negative.
absl::StatusOr<int64_t> MachineFreeBytes();

// Stay free, for libraries' code and scratch.
inline constexpr int64_t kKeptFreeBytes = 64_MiB;

// RESOURCE_EXHAUSTED: "n bytes of device memory asked, m bytes free".
absl::Status OutOfMemory(MemorySpace space, int64_t asked, int64_t free);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_FREE_MEMORY_H_
