#include "executor/device/cuda/cuda_device.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "executor/device/cuda/cuda_clock.h"
#include "executor/device/cuda/numa.h"
#include "executor/device/free_memory.h"

namespace spillway {
namespace {

// What was freed or destroyed cannot be reported to a caller.
void LogFailure(const absl::Status& status) {
  if (!status.ok()) spdlog::warn("{}", std::string(status.message()));
}

class CudaMemory final : public DeviceMemory {
 public:
  // `live_device_bytes` is kept up to date for the device's space.
  CudaMemory(CudaApi& api, MemorySpace space, void* data, int64_t bytes,
             std::atomic<int64_t>& live_device_bytes)
      : api_(api),
        space_(space),
        data_(data),
        bytes_(bytes),
        live_device_bytes_(live_device_bytes) {
    if (space_ == MemorySpace::kDevice) live_device_bytes_ += bytes_;
  }
  ~CudaMemory() override {
    if (space_ == MemorySpace::kDevice) live_device_bytes_ -= bytes_;
    LogFailure(space_ == MemorySpace::kDevice
                   ? CudaStatus(api_, api_.Free(data_), "cudaFree")
                   : CudaStatus(api_, api_.FreeHost(data_), "cudaFreeHost"));
  }
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  std::byte* data() const override { return static_cast<std::byte*>(data_); }
  int64_t num_bytes() const override { return bytes_; }

 private:
  CudaApi& api_;
  const MemorySpace space_;
  void* const data_;
  const int64_t bytes_;
  std::atomic<int64_t>& live_device_bytes_;
};

class CudaEvent final : public Event {
 public:
  CudaEvent(CudaApi& api, CudaApi::Event event, CudaClock* clock)
      : api_(api), event_(event), clock_(clock) {}
  ~CudaEvent() override {
    LogFailure(CudaStatus(api_, api_.EventDestroy(event_), "cudaEventDestroy"));
  }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  absl::Status Record(CudaApi::Stream stream) {
    if (clock_ != nullptr) {
      ASSIGN_OR_RETURN(zero_, clock_->ZeroFor(stream));
    }
    return CudaStatus(api_, api_.EventRecord(event_, stream),
                      "cudaEventRecord");
  }
  absl::Status MakeWait(CudaApi::Stream stream) {
    return CudaStatus(api_, api_.StreamWaitEvent(stream, event_),
                      "cudaStreamWaitEvent");
  }

  int64_t TimeNs() const override {
    CHECK(clock_ != nullptr);
    return zero_ == nullptr ? 0 : zero_->TimeNsOf(event_);
  }

 private:
  CudaApi& api_;
  const CudaApi::Event event_;
  CudaClock* const clock_;  // null: without timing
  std::shared_ptr<const CudaClock::Zero> zero_;
};

class CudaStream final : public Stream {
 public:
  CudaStream(CudaApi& api, int device, CudaApi::Stream stream)
      : api_(api), device_(device), stream_(stream) {}
  ~CudaStream() override {
    LogFailure(CudaStatus(api_, api_.StreamSynchronize(stream_),
                          "cudaStreamSynchronize"));
    LogFailure(
        CudaStatus(api_, api_.StreamDestroy(stream_), "cudaStreamDestroy"));
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  absl::Status Submit(StreamTask* task) override {
    if (!error_.ok()) return absl::OkStatus();
    RETURN_IF_ERROR(CudaStatus(api_, api_.SetDevice(device_), "cudaSetDevice"));
    error_ = task->Run(stream_);
    return absl::OkStatus();
  }
  absl::Status CopyToHost(void* host, const void* device,
                          int64_t bytes) override {
    return Copy(host, device, bytes, CudaApi::Copy::kToHost);
  }
  absl::Status CopyToDevice(void* device, const void* host,
                            int64_t bytes) override {
    return Copy(device, host, bytes, CudaApi::Copy::kToDevice);
  }
  void BeginRange(const char* name) override { api_.RangePush(name); }
  void EndRange() override { api_.RangePop(); }
  absl::Status Record(Event* event) override {
    return static_cast<CudaEvent*>(event)->Record(stream_);
  }
  absl::Status Wait(Event* event) override {
    return static_cast<CudaEvent*>(event)->MakeWait(stream_);
  }
  absl::Status Synchronize() override {
    const absl::Status done = CudaStatus(api_, api_.StreamSynchronize(stream_),
                                         "cudaStreamSynchronize");
    const absl::Status error = std::exchange(error_, absl::OkStatus());
    return error.ok() ? done : error;
  }

 private:
  absl::Status Copy(void* to, const void* from, int64_t bytes,
                    CudaApi::Copy copy) {
    if (!error_.ok() || bytes == 0) return absl::OkStatus();
    return CudaStatus(
        api_,
        api_.MemcpyAsync(to, from, static_cast<size_t>(bytes), copy, stream_),
        "cudaMemcpyAsync");
  }

  CudaApi& api_;
  const int device_;
  const CudaApi::Stream stream_;
  absl::Status error_;  // the first of a task since the last Synchronize
};

class CudaDevice final : public Device {
 public:
  CudaDevice(CudaApi& api, int index, std::optional<int> numa_node,
             const DeviceOptions& options)
      : api_(api),
        index_(index),
        numa_node_(numa_node),
        capacity_bytes_(options.capacity_bytes),
        name_(fmt::format("cuda:{}", index)),
        clock_(api) {}

  std::string_view name() const override { return name_; }
  DeviceKind kind() const override { return DeviceKind::kCuda; }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(
      MemorySpace space, int64_t bytes) override {
    CHECK(bytes > 0);
    ++allocations_;
    RETURN_IF_ERROR(Use());
    return space == MemorySpace::kDevice ? AllocateOnDevice(bytes)
                                         : AllocateOnHost(bytes);
  }

  absl::StatusOr<int64_t> FreeBytes() const override {
    RETURN_IF_ERROR(Use());
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    RETURN_IF_ERROR(CudaStatus(api_, api_.MemGetInfo(&free_bytes, &total_bytes),
                               "cudaMemGetInfo"));
    const auto free = static_cast<int64_t>(free_bytes);
    if (capacity_bytes_ == 0) return free;
    return std::clamp<int64_t>(capacity_bytes_ - live_device_bytes_, 0, free);
  }

  int64_t allocations() const override { return allocations_; }

  absl::StatusOr<std::unique_ptr<Stream>> NewStream(
      const StreamOptions&) override {
    RETURN_IF_ERROR(Use());
    CudaApi::Stream stream = nullptr;
    RETURN_IF_ERROR(
        CudaStatus(api_, api_.StreamCreate(&stream), "cudaStreamCreate"));
    return std::make_unique<CudaStream>(api_, index_, stream);
  }

  absl::StatusOr<std::unique_ptr<Event>> NewEvent(
      const EventOptions& options) override {
    RETURN_IF_ERROR(Use());
    CudaApi::Event event = nullptr;
    RETURN_IF_ERROR(CudaStatus(api_, api_.EventCreate(&event, options.timing),
                               "cudaEventCreate"));
    return std::make_unique<CudaEvent>(api_, event,
                                       options.timing ? &clock_ : nullptr);
  }

 private:
  absl::Status Use() const {
    return CudaStatus(api_, api_.SetDevice(index_), "cudaSetDevice");
  }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateOnDevice(
      int64_t bytes) {
    ASSIGN_OR_RETURN(const int64_t free, FreeBytes());
    if (bytes > free) return OutOfMemory(MemorySpace::kDevice, bytes, free);
    void* data = nullptr;
    const CudaApi::Error error = api_.Malloc(&data, static_cast<size_t>(bytes));
    if (error == CudaApi::kMemoryAllocation) {
      return OutOfMemory(MemorySpace::kDevice, bytes, free);
    }
    RETURN_IF_ERROR(CudaStatus(api_, error, "cudaMalloc"));
    return std::make_unique<CudaMemory>(api_, MemorySpace::kDevice, data, bytes,
                                        live_device_bytes_);
  }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateOnHost(int64_t bytes) {
    ASSIGN_OR_RETURN(const int64_t free, MachineFreeBytes());
    if (bytes > free) return OutOfMemory(MemorySpace::kHost, bytes, free);
    void* data = nullptr;
    const ScopedNumaNode near_gpu(numa_node_);
    const CudaApi::Error error =
        api_.HostAlloc(&data, static_cast<size_t>(bytes));
    if (error == CudaApi::kMemoryAllocation) {
      return OutOfMemory(MemorySpace::kHost, bytes, free);
    }
    RETURN_IF_ERROR(CudaStatus(api_, error, "cudaHostAlloc"));
    return std::make_unique<CudaMemory>(api_, MemorySpace::kHost, data, bytes,
                                        live_device_bytes_);
  }

  CudaApi& api_;
  const int index_;
  const std::optional<int> numa_node_;  // that it is near; none: not known
  const int64_t capacity_bytes_;
  const std::string name_;
  CudaClock clock_;
  std::atomic<int64_t> allocations_ = 0;
  std::atomic<int64_t> live_device_bytes_ = 0;
};

}  // namespace

absl::Status CudaStatus(const CudaApi& api, CudaApi::Error error,
                        std::string_view call) {
  if (error == 0) return absl::OkStatus();
  const std::string text =
      fmt::format("{}: {} (CUDA error {})", call, api.ErrorText(error), error);
  switch (error) {
    case CudaApi::kMemoryAllocation:
      return ResourceExhausted(text);
    case CudaApi::kInsufficientDriver:
    case CudaApi::kNoDevice:
      return Unavailable(text);
    default:
      return Internal(text);
  }
}

absl::StatusOr<std::unique_ptr<Device>> NewCudaDevice(
    CudaApi& api, int index, const DeviceOptions& options) {
  int count = 0;
  RETURN_IF_ERROR(
      CudaStatus(api, api.GetDeviceCount(&count), "cudaGetDeviceCount"));
  if (index >= count) {
    return Unavailable(
        fmt::format("there is no cuda:{}; this machine has {} {}", index, count,
                    count == 1 ? "GPU" : "GPUs"));
  }
  // Libraries make their handles for the thread's present device.
  RETURN_IF_ERROR(CudaStatus(api, api.SetDevice(index), "cudaSetDevice"));
  std::string bus_id;
  RETURN_IF_ERROR(CudaStatus(api, api.GetPciBusId(index, &bus_id),
                             "cudaDeviceGetPCIBusId"));
  return std::make_unique<CudaDevice>(api, index, NumaNodeOf(bus_id), options);
}

}  // namespace spillway
