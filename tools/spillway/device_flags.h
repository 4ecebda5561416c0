// Flags that say where to run: the device and the memory budgets.
#ifndef SPILLWAY_TOOLS_SPILLWAY_DEVICE_FLAGS_H_
#define SPILLWAY_TOOLS_SPILLWAY_DEVICE_FLAGS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "executor/device/device.h"
#include "executor/kernel.h"
#include "executor/session.h"
#include "graph/passes/standard_passes.h"
#include "tools/spillway/flags.h"

namespace spillway {

struct DeviceFlags {
  std::string device = {};  // empty: cuda where there is one, else cpu
  int64_t threads = 0;      // 0: all cores
  double link_gbps = 0;     // 0: full speed
  bool cuda_graph = false;
  std::string algorithms = "auto";  // or "first"
  MathOptions math = {};            // allow_tf32: see SharePrecision

  bool chooses_algorithms() const { return algorithms == "auto"; }
};
void AddDeviceFlags(FlagSet& flags, DeviceFlags& device);
// --link_gbps, for commands that run steps.
void AddLinkFlag(FlagSet& flags, DeviceFlags& device);

// --cuda_graph, for commands that run many steps or predict their time.
void AddCudaGraphFlag(FlagSet& flags, DeviceFlags& device);

struct MemoryFlags {
  std::optional<int64_t> device_memory = {};  // none: as little as possible
  std::optional<int64_t> host_memory = {};    // none: half of RAM
  std::string schedule = "auto";              // or "memory", "creation"
  bool check_memory = false;
};
void AddMemoryFlags(FlagSet& flags, MemoryFlags& memory);
// --check_memory, for commands that run steps.
void AddCheckMemoryFlag(FlagSet& flags, MemoryFlags& memory);

// The limit of the swap pool, with the default filled in: half of the RAM that
// this process may use, and nothing where the system does not say (no host
// memory can be allocated there either).
int64_t HostMemory(const MemoryFlags& flags);

// What --schedule stands for.
ScheduleKind ScheduleOf(const MemoryFlags& flags);

// The device, with the budget as its wall. Errors: what NewDevice says, naming
// the flag.
absl::StatusOr<std::unique_ptr<Device>> OpenDevice(const DeviceFlags& flags,
                                                   const MemoryFlags& memory);

// What the graph's passes are chosen for. Errors: what OpenDevice says of a
// name that does not tell by itself.
absl::StatusOr<PassTarget> PassTargetOf(const DeviceFlags& flags);

// The ops and kernels of this build, the budgets and the threads.
SessionOptions MakeSessionOptions(const DeviceFlags& device,
                                  const MemoryFlags& memory, int64_t seed);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_DEVICE_FLAGS_H_
