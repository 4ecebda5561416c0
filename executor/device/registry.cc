#include "executor/device/registry.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/status_macros.h"
#include "executor/device/cpu/cpu_device.h"
#include "executor/device/inline/inline_device.h"

namespace spillway {
namespace {

absl::Status CheckOptions(const DeviceOptions& options) {
  if (options.threads < 0) {
    return InvalidArgument(fmt::format(
        "threads must be 0 (automatic) or more, not {}", options.threads));
  }
  if (options.capacity_bytes < 0) {
    return InvalidArgument(
        fmt::format("the device's capacity must be 0 (what is free) or more "
                    "bytes, not {}",
                    options.capacity_bytes));
  }
  const double rate = options.link_gigabytes_per_second;
  if (!std::isfinite(rate) || rate < 0) {
    return InvalidArgument(fmt::format(
        "the link's rate must be 0 (full speed) or more GB/s, not {}", rate));
  }
  return absl::OkStatus();
}

// "cuda", "cuda:0", "cuda:12"
bool IsCudaName(std::string_view name) {
  if (!name.starts_with("cuda")) return false;
  name.remove_prefix(4);
  if (name.empty()) return true;
  return name.size() > 1 && name.front() == ':' &&
         name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> NewDevice(
    std::string_view name, const DeviceOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  if (name == "inline") return NewInlineDevice(options);
  if (name.empty() || name == "cpu") return NewCpuDevice(options);
  if (IsCudaName(name)) {
    return Unavailable("this build has no CUDA backend; use --device cpu");
  }
  return InvalidArgument(fmt::format(
      "no device is named '{}'; there are inline, cpu, cuda and cuda:N", name));
}

int ResolveThreads(int threads) {
  CHECK(threads >= 0);
  if (threads > 0) return threads;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // Fails only on machines with more than 1024 cores.
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

}  // namespace spillway
