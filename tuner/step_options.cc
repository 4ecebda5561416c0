#include "tuner/step_options.h"

#include <cmath>
#include <string_view>

#include "base/status_macros.h"
#include "executor/device/free_memory.h"
#include "executor/device/registry.h"
#include "fmt/format.h"
#include "ops/open_libraries.h"

namespace spillway {
namespace {

absl::Status CheckBytes(std::string_view name,
                        const std::optional<int64_t>& bytes) {
  constexpr int64_t kMost = int64_t{1} << 62;  // sums of two do not overflow
  if (bytes && *bytes < 0) {
    return InvalidArgument(
        fmt::format("{}: {} bytes is negative", std::string(name), *bytes));
  }
  if (bytes && *bytes > kMost) {
    return InvalidArgument(fmt::format("{}: {} bytes is more than 2^62",
                                       std::string(name), *bytes));
  }
  return absl::OkStatus();
}

absl::Status CheckNumber(std::string_view name, double number) {
  if (std::isfinite(number) && number >= 0) return absl::OkStatus();
  return InvalidArgument(fmt::format("{}: {} must be a number of at least 0",
                                     std::string(name), number));
}

absl::StatusOr<std::unique_ptr<Device>> OpenWithin(const StepOptions& options,
                                                   int64_t capacity_bytes) {
  SPILLWAY_RETURN_IF_ERROR(CheckStepOptions(options));
  if (options.link_gbps > 0 && options.device.starts_with("cuda")) {
    return InvalidArgument(
        fmt::format("link_gbps: only for the cpu and inline devices, not {}",
                    options.device));
  }
  absl::StatusOr<std::unique_ptr<Device>> device = NewDevice(
      options.device, {.threads = options.threads,
                       .capacity_bytes = capacity_bytes,
                       .link_gigabytes_per_second = options.link_gbps});
  if (!device.ok()) return Annotate(device.status(), "device");
  if (options.capture_steps && !(*device)->can_capture()) {
    return InvalidArgument(
        fmt::format("capture_steps: the {} device has no graphs",
                    std::string((*device)->name())));
  }
  return device;
}

}  // namespace

absl::Status CheckStepOptions(const StepOptions& options) {
  if (options.ops == nullptr) return InvalidArgument("ops: no registry");
  if (options.kernels == nullptr) {
    return InvalidArgument("kernels: no registry");
  }
  if (options.threads < 0) {
    return InvalidArgument(fmt::format(
        "threads: {} must be 0 (all cores) or more", options.threads));
  }
  SPILLWAY_RETURN_IF_ERROR(CheckNumber("link_gbps", options.link_gbps));
  if (options.time_limit) {
    SPILLWAY_RETURN_IF_ERROR(CheckNumber("time_limit", *options.time_limit));
  }
  SPILLWAY_RETURN_IF_ERROR(CheckBytes("device_memory", options.device_memory));
  SPILLWAY_RETURN_IF_ERROR(CheckBytes("host_memory", options.host_memory));
  return NeedsTuning(options.lms) ? CheckRanges(options.lms)
                                  : CheckOptions(options.lms);
}

int64_t DefaultHostMemory() {
  const absl::StatusOr<MachineMemory> memory = ReadMachineMemory();
  return memory.ok() ? memory->total_bytes / 2 : 0;
}

int64_t HostMemoryOf(const StepOptions& options) {
  return options.host_memory ? *options.host_memory : DefaultHostMemory();
}

absl::StatusOr<std::unique_ptr<Device>> OpenDevice(
    const StepOptions& options, std::optional<int64_t> device_limit) {
  std::optional<int64_t> capacity = options.device_memory;
  if (!capacity || (device_limit && *device_limit < *capacity)) {
    capacity = device_limit;
  }
  return OpenWithin(options, capacity.value_or(0));
}

absl::StatusOr<std::unique_ptr<Device>> OpenWholeDevice(
    const StepOptions& options) {
  return OpenWithin(options, 0);
}

SessionOptions SessionOptionsOf(const StepOptions& options) {
  return {.ops = options.ops,
          .kernels = options.kernels,
          .device_memory = options.device_memory,
          .host_memory = HostMemoryOf(options),
          .schedule = options.schedule,
          .threads = options.threads,
          .math = options.math,
          .seed = options.seed,
          .own_variables = options.own_variables,
          .check_memory = options.check_memory,
          .capture_steps = options.capture_steps,
          .communicator = options.communicator};
}

absl::StatusOr<int64_t> DeviceBudget(const StepOptions& options) {
  if (options.device_memory) return *options.device_memory;
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                            OpenWholeDevice(options));
  SPILLWAY_RETURN_IF_ERROR(OpenKernelLibraries(device->kind()));
  return device->FreeBytes();
}

absl::StatusOr<PassTarget> PassTargetOf(const StepOptions& options) {
  if (options.device.starts_with("cuda")) return PassTarget::kGpu;
  if (options.device == "cpu" || options.device == "inline")
    return PassTarget::kCpu;
  SPILLWAY_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                            OpenWholeDevice(options));
  return device->kind() == DeviceKind::kCuda ? PassTarget::kGpu
                                             : PassTarget::kCpu;
}

}  // namespace spillway
