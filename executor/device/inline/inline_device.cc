#include "executor/device/inline/inline_device.h"

#include <omp.h>

#include <chrono>
#include <optional>
#include <utility>

#include "base/check.h"
#include "executor/device/cpu/cpu_memory.h"
#include "executor/device/cpu/link.h"

namespace spillway {
namespace {

// Sets the number of OpenMP threads of this thread during its lifetime.
class ScopedOpenMpThreads {
 public:
  explicit ScopedOpenMpThreads(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~ScopedOpenMpThreads() { omp_set_num_threads(before_); }
  ScopedOpenMpThreads(const ScopedOpenMpThreads&) = delete;
  ScopedOpenMpThreads& operator=(const ScopedOpenMpThreads&) = delete;

 private:
  const int before_;
};

class InlineEvent final : public Event {
 public:
  explicit InlineEvent(bool timing) : timing_(timing) {}

  int64_t TimeNs() const override {
    SPILLWAY_CHECK(timing_);
    return time_ns_;
  }
  void Reach() {
    if (!timing_) return;
    time_ns_ = std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
                   .count();
  }

 private:
  const bool timing_;
  int64_t time_ns_ = 0;
};

class InlineStream final : public Stream {
 public:
  InlineStream(int threads, Link& to_host, Link& to_device)
      : threads_(threads), to_host_(to_host), to_device_(to_device) {}

  absl::Status Submit(StreamTask* task) override {
    if (error_.ok()) {
      const ScopedOpenMpThreads scope(threads_);
      error_ = task->Run(nullptr);
    }
    return absl::OkStatus();
  }
  absl::Status CopyToHost(void* host, const void* device,
                          int64_t bytes) override {
    if (error_.ok()) to_host_.Copy(host, device, bytes);
    return absl::OkStatus();
  }
  absl::Status CopyToDevice(void* device, const void* host,
                            int64_t bytes) override {
    if (error_.ok()) to_device_.Copy(device, host, bytes);
    return absl::OkStatus();
  }
  absl::Status Record(Event* event) override {
    static_cast<InlineEvent*>(event)->Reach();
    return absl::OkStatus();
  }
  // Every recorded mark has been reached.
  absl::Status Wait(Event*) override { return absl::OkStatus(); }
  absl::Status Synchronize() override {
    return std::exchange(error_, absl::OkStatus());
  }

 private:
  const int threads_;
  Link& to_host_;
  Link& to_device_;
  absl::Status error_;
};

class InlineDevice final : public Device {
 public:
  explicit InlineDevice(const DeviceOptions& options)
      : threads_(ResolveThreads(options.threads)),
        memory_(options.capacity_bytes),
        to_host_(options.link_gigabytes_per_second),
        to_device_(options.link_gigabytes_per_second) {}

  std::string_view name() const override { return "inline"; }
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
      const StreamOptions&) override {
    return std::make_unique<InlineStream>(threads_, to_host_, to_device_);
  }
  absl::StatusOr<std::unique_ptr<Event>> NewEvent(
      const EventOptions& options) override {
    return std::make_unique<InlineEvent>(options.timing);
  }

 private:
  const int threads_;
  CpuMemoryPool memory_;
  Link to_host_;
  Link to_device_;
};

}  // namespace

std::unique_ptr<Device> NewInlineDevice(const DeviceOptions& options) {
  return std::make_unique<InlineDevice>(options);
}

}  // namespace spillway
