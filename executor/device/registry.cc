#include "executor/device/registry.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "executor/device/cpu/cpu_device.h"
#include "executor/device/cuda/cuda_backend.h"
#include "executor/device/cuda/cuda_device.h"
#include "executor/device/inline/inline_device.h"

namespace spillway {
namespace {

constexpr int kMaxThreads = 4096;

absl::Status CheckOptions(const DeviceOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(CheckThreads(options.threads));
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

absl::StatusOr<std::unique_ptr<Device>> NewCuda(int index,
                                                const DeviceOptions& options) {
  const CudaBackend* backend = LinkedCudaBackend();
  if (backend == nullptr) return NoCudaBackend();
  absl::StatusOr<std::unique_ptr<Device>> device =
      NewCudaDevice(backend->runtime(), index, options);
  if (!absl::IsUnavailable(device.status())) return device;
  return Unavailable(fmt::format("{}; use the device cpu",
                                 std::string(device.status().message())));
}

}  // namespace

std::optional<int> CudaIndex(std::string_view name) {
  if (name == "cuda") return 0;
  if (!name.starts_with("cuda:")) return std::nullopt;
  name.remove_prefix(5);
  int index = 0;
  const auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), index);
  const bool is_number =
      error == std::errc() && index >= 0 && end == name.data() + name.size();
  return is_number ? std::optional(index) : std::nullopt;
}

absl::StatusOr<std::unique_ptr<Device>> NewDevice(
    std::string_view name, const DeviceOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(CheckOptions(options));
  if (name == "inline") return NewInlineDevice(options);
  if (name == "cpu") return NewCpuDevice(options);
  if (name.empty()) {
    absl::StatusOr<std::unique_ptr<Device>> cuda = NewCuda(0, options);
    return absl::IsUnavailable(cuda.status()) ? NewCpuDevice(options)
                                              : std::move(cuda);
  }
  if (const std::optional<int> index = CudaIndex(name)) {
    return NewCuda(*index, options);
  }
  return InvalidArgument(fmt::format(
      "no device is named '{}'; there are inline, cpu, cuda and cuda:N", name));
}

absl::Status CheckThreads(int threads) {
  if (threads >= 0 && threads <= kMaxThreads) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "threads must be 0 (automatic) to {}, not {}", kMaxThreads, threads));
}

int ResolveThreads(int threads) {
  SPILLWAY_CHECK(threads >= 0);
  if (threads > 0) return threads;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // Fails only on machines with more than 1024 cores.
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

}  // namespace spillway
