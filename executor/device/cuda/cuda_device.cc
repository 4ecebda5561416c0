#include "executor/device/cuda/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/status_macros.h"
#include "executor/device/cuda/cuda_clock.h"
#include "executor/device/cuda/cuda_status.h"
#include "executor/device/cuda/cuda_stream.h"
#include "executor/device/cuda/numa.h"
#include "executor/device/free_memory.h"

namespace spillway {
namespace {

class CudaMemory final : public DeviceMemory {
 public:
  // Keeps `live_device_bytes` up to date if the space is the device's.
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
    if (space_ == MemorySpace::kDevice) {
      LogCudaFailure(api_, api_.Free(data_), "cudaFree");
    } else {
      LogCudaFailure(api_, api_.FreeHost(data_), "cudaFreeHost");
    }
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

// Free bytes of this thread's GPU, as its driver reports them.
absl::StatusOr<int64_t> FreeOfDriver(CudaApi& api) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  SPILLWAY_RETURN_IF_ERROR(CudaStatus(
      api, api.MemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo"));
  return static_cast<int64_t>(free_bytes);
}

class CudaDevice final : public Device {
 public:
  CudaDevice(CudaApi& api, int index, std::string model,
             std::optional<int> numa_node, int64_t free_when_opened,
             const DeviceOptions& options)
      : api_(api),
        index_(index),
        model_(std::move(model)),
        numa_node_(numa_node),
        free_when_opened_(free_when_opened),
        capacity_bytes_(options.capacity_bytes),
        host_threads_(ResolveThreads(options.threads)),
        name_(fmt::format("cuda:{}", index)),
        clock_(api) {}

  std::string_view name() const override { return name_; }
  DeviceKind kind() const override { return DeviceKind::kCuda; }
  std::string_view model() const override { return model_; }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(
      MemorySpace space, int64_t bytes) override {
    SPILLWAY_CHECK(bytes > 0);
    ++allocations_;
    SPILLWAY_RETURN_IF_ERROR(Use());
    return space == MemorySpace::kDevice ? AllocateOnDevice(bytes)
                                         : AllocateOnHost(bytes);
  }

  absl::StatusOr<int64_t> FreeBytes() const override {
    SPILLWAY_RETURN_IF_ERROR(Use());
    SPILLWAY_ASSIGN_OR_RETURN(const int64_t free, FreeOfDriver(api_));
    if (capacity_bytes_ == 0) return free;
    return std::clamp<int64_t>(capacity_bytes_ - live_device_bytes_, 0, free);
  }

  std::optional<int64_t> DriverBytesTaken() const override {
    if (!Use().ok()) return std::nullopt;
    const absl::StatusOr<int64_t> free = FreeOfDriver(api_);
    if (!free.ok()) return std::nullopt;
    return free_when_opened_ - *free;
  }

  bool can_capture() const override { return true; }

  int64_t allocations() const override { return allocations_; }

  absl::StatusOr<std::unique_ptr<Stream>> NewStream(
      const StreamOptions&) override {
    SPILLWAY_RETURN_IF_ERROR(Use());
    return NewCudaStream(api_, index_, host_threads_);
  }

  absl::StatusOr<std::unique_ptr<Event>> NewEvent(
      const EventOptions& options) override {
    SPILLWAY_RETURN_IF_ERROR(Use());
    return NewCudaEvent(api_, options.timing ? &clock_ : nullptr);
  }

 private:
  absl::Status Use() const {
    return CudaStatus(api_, api_.SetDevice(index_), "cudaSetDevice");
  }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateOnDevice(
      int64_t bytes) {
    SPILLWAY_ASSIGN_OR_RETURN(const int64_t free, FreeBytes());
    if (bytes > free) return OutOfMemory(MemorySpace::kDevice, bytes, free);
    void* data = nullptr;
    const CudaApi::Error error = api_.Malloc(&data, static_cast<size_t>(bytes));
    if (error == CudaApi::kMemoryAllocation) {
      return OutOfMemory(MemorySpace::kDevice, bytes, free);
    }
    SPILLWAY_RETURN_IF_ERROR(CudaStatus(api_, error, "cudaMalloc"));
    return std::make_unique<CudaMemory>(api_, MemorySpace::kDevice, data, bytes,
                                        live_device_bytes_);
  }

  absl::StatusOr<std::unique_ptr<DeviceMemory>> AllocateOnHost(int64_t bytes) {
    SPILLWAY_ASSIGN_OR_RETURN(const int64_t free, MachineFreeBytes());
    if (bytes > free) return OutOfMemory(MemorySpace::kHost, bytes, free);
    void* data = nullptr;
    const ScopedNumaNode near_gpu(numa_node_);
    const CudaApi::Error error =
        api_.HostAlloc(&data, static_cast<size_t>(bytes));
    if (error == CudaApi::kMemoryAllocation) {
      return OutOfMemory(MemorySpace::kHost, bytes, free);
    }
    SPILLWAY_RETURN_IF_ERROR(CudaStatus(api_, error, "cudaHostAlloc"));
    return std::make_unique<CudaMemory>(api_, MemorySpace::kHost, data, bytes,
                                        live_device_bytes_);
  }

  CudaApi& api_;
  const int index_;
  const std::string model_;
  const std::optional<int> numa_node_;  // near the GPU; none: unknown
  const int64_t free_when_opened_;      // reported by the driver
  const int64_t capacity_bytes_;
  const int host_threads_;
  const std::string name_;
  CudaClock clock_;
  std::atomic<int64_t> allocations_ = 0;
  std::atomic<int64_t> live_device_bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> NewCudaDevice(
    CudaApi& api, int index, const DeviceOptions& options) {
  int count = 0;
  SPILLWAY_RETURN_IF_ERROR(
      CudaStatus(api, api.GetDeviceCount(&count), "cudaGetDeviceCount"));
  if (index >= count) {
    return Unavailable(
        fmt::format("there is no cuda:{}; this machine has {} {}", index, count,
                    count == 1 ? "GPU" : "GPUs"));
  }
  // Libraries make their handles for the thread's current device.
  SPILLWAY_RETURN_IF_ERROR(
      CudaStatus(api, api.SetDevice(index), "cudaSetDevice"));
  std::string bus_id;
  std::string model;
  SPILLWAY_RETURN_IF_ERROR(CudaStatus(api, api.GetDeviceName(index, &model),
                                      "cudaGetDeviceProperties"));
  SPILLWAY_RETURN_IF_ERROR(CudaStatus(api, api.GetPciBusId(index, &bus_id),
                                      "cudaDeviceGetPCIBusId"));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t free, FreeOfDriver(api));
  return std::make_unique<CudaDevice>(api, index, std::move(model),
                                      NumaNodeOf(bus_id), free, options);
}

}  // namespace spillway
