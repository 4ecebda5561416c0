#include "tools/spillway/device_flags.h"

#include "base/status_macros.h"
#include "executor/device/free_memory.h"
#include "executor/device/registry.h"
#include "fmt/format.h"
#include "ops/all_ops.h"

namespace spillway {

void AddDeviceFlags(FlagSet& flags, DeviceFlags& device) {
  flags.BeginGroup("Device");
  flags.Text("--device", device.device,
             "cpu, cuda, cuda:N or inline; default: cuda where this build and "
             "machine have it, else cpu");
  flags.Int("--threads", device.threads,
            {.help = "of kernels; 0, the default: all cores", .max = 1024});
  flags.Choice("--algorithms", device.algorithms,
               {.help = "of kernels that can choose: auto (default), the "
                        "fastest by the profile, with smaller workspaces where "
                        "the budget asks for it; first, the libraries' first, "
                        "whatever profile and budget, so that results have the "
                        "same bits",
                .choices = {"auto", "first"}});
  flags.Bool("--deterministic", device.math.deterministic,
             "the same inputs give the same bits, run after run; default true; "
             "false lets a GPU use algorithms that may be faster");
}

void AddLinkFlag(FlagSet& flags, DeviceFlags& device) {
  flags.Real("--link_gbps", device.link_gbps,
             {.help = "slow the cpu or inline device's copies to this many "
                      "1e9 bytes a second each way; 0, the default: full "
                      "speed",
              .max = 1e6});
}

void AddCudaGraphFlag(FlagSet& flags, DeviceFlags& device) {
  flags.Bool("--cuda_graph", device.cuda_graph,
             "capture the second step as a CUDA graph and launch it as a whole "
             "from then on; the same bits; default: issue every kernel and "
             "copy");
}

void AddMemoryFlags(FlagSet& flags, MemoryFlags& memory) {
  flags.BeginGroup("Memory");
  flags.Size("--device_memory", memory.device_memory,
             "budget of the device, a hard limit; default: as little as the "
             "plan needs");
  flags.Size("--host_memory", memory.host_memory,
             "limit of the swap pool; default: half of RAM or of the "
             "container's limit");
  flags.Choice("--schedule", memory.schedule,
               {.help = "order of the nodes: memory, of several orders the one "
                        "that needs the least; creation, as the graph was "
                        "built; auto (default): memory with --device_memory or "
                        "--lms, else creation",
                .choices = {"auto", "memory", "creation"}});
}

ScheduleKind ScheduleOf(const MemoryFlags& flags) {
  if (flags.schedule == "creation") return ScheduleKind::kCreation;
  return flags.schedule == "memory" ? ScheduleKind::kMemory
                                    : ScheduleKind::kAuto;
}

void AddCheckMemoryFlag(FlagSet& flags, MemoryFlags& memory) {
  flags.Bool(
      "--check_memory", memory.check_memory,
      "check every access of kernels and copies, and measure memory from "
      "its bytes; slower; only for the cpu and inline devices");
}

int64_t HostMemory(const MemoryFlags& flags) {
  if (flags.host_memory) return *flags.host_memory;
  const absl::StatusOr<MachineMemory> memory = ReadMachineMemory();
  return memory.ok() ? memory->total_bytes / 2 : 0;
}

absl::StatusOr<std::unique_ptr<Device>> OpenDevice(const DeviceFlags& flags,
                                                   const MemoryFlags& memory) {
  if (flags.link_gbps > 0 && flags.device.starts_with("cuda")) {
    return InvalidArgument(
        fmt::format("--link_gbps: only for the cpu and inline devices, not {}",
                    flags.device));
  }
  absl::StatusOr<std::unique_ptr<Device>> device = NewDevice(
      flags.device, {.threads = static_cast<int>(flags.threads),
                     .capacity_bytes = memory.device_memory.value_or(0),
                     .link_gigabytes_per_second = flags.link_gbps});
  if (!device.ok()) return Annotate(device.status(), "--device");
  if (flags.cuda_graph && !(*device)->can_capture()) {
    return InvalidArgument(fmt::format(
        "--cuda_graph: the {} device has no graphs", (*device)->name()));
  }
  return device;
}

absl::StatusOr<PassTarget> PassTargetOf(const DeviceFlags& flags) {
  if (flags.device.starts_with("cuda")) return PassTarget::kGpu;
  if (flags.device == "cpu" || flags.device == "inline") {
    return PassTarget::kCpu;
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                            OpenDevice(flags, MemoryFlags{}));
  return device->kind() == DeviceKind::kCuda ? PassTarget::kGpu
                                             : PassTarget::kCpu;
}

SessionOptions MakeSessionOptions(const DeviceFlags& device,
                                  const MemoryFlags& memory, int64_t seed) {
  return {.ops = &StandardOps(),
          .kernels = &StandardKernels(),
          .device_memory = memory.device_memory,
          .host_memory = HostMemory(memory),
          .schedule = ScheduleOf(memory),
          .threads = static_cast<int>(device.threads),
          .math = device.math,
          .seed = static_cast<uint64_t>(seed),
          .check_memory = memory.check_memory,
          .capture_steps = device.cuda_graph};
}

}  // namespace spillway
