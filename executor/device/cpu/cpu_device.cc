#include "executor/device/cpu/cpu_device.h"

#include <optional>

#include "base/status_macros.h"
#include "base/units.h"
#include "executor/device/cpu/cpu_memory.h"
#include "executor/device/cpu/cpu_stream.h"
#include "executor/device/cpu/link.h"
#include "executor/device/process_memory.h"

namespace spillway {
namespace {

constexpr int64_t kThreadBytes = 9_MiB;  // its stack, and a little more

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const DeviceOptions& options)
      : threads_(ResolveThreads(options.threads)),
        memory_(options.capacity_bytes),
        to_host_(options.link_gigabytes_per_second),
        to_device_(options.link_gigabytes_per_second) {}

  std::string_view name() const override { return "cpu"; }
  DeviceKind kind() const override { return DeviceKind::kCpu; }
  bool host_addressable() const override { return true; }
  std::optional<int> kernel_threads() const override { return threads_; }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(
      MemorySpace space, int64_t bytes) override {
    return memory_.Allocate(space, bytes);
  }
  absl::StatusOr<int64_t> FreeBytes() const override {
    return memory_.FreeDeviceBytes();
  }
  int64_t allocations() const override { return memory_.allocations(); }

  absl::StatusOr<std::unique_ptr<Stream>> NewStream(
      const StreamOptions& options) override {
    // The OpenMP library ends the process if it cannot start its threads.
    SPILLWAY_RETURN_IF_ERROR(
        CheckMayMap(threads_ * kThreadBytes, "for the threads of a stream"));
    return std::make_unique<CpuStream>(CpuStreamSpec{.name = options.name,
                                                     .threads = threads_,
                                                     .to_host = &to_host_,
                                                     .to_device = &to_device_});
  }
  absl::StatusOr<std::unique_ptr<Event>> NewEvent(
      const EventOptions& options) override {
    return std::make_unique<CpuEvent>(options.timing);
  }

 private:
  const int threads_;
  CpuMemoryPool memory_;
  Link to_host_;
  Link to_device_;
};

}  // namespace

std::unique_ptr<Device> NewCpuDevice(const DeviceOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

}  // namespace spillway
