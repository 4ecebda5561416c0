// Device: where bytes are stored and kernels run. Backends: inline
// (synchronous, the reference), cpu (streams are worker threads), cuda. All
// pass one conformance suite, tests/executor/device/conformance_test.cc.
#ifndef SPILLWAY_EXECUTOR_DEVICE_DEVICE_H_
#define SPILLWAY_EXECUTOR_DEVICE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "executor/device/event.h"
#include "executor/device/stream.h"
#include "executor/kernel.h"

namespace spillway {

enum class MemorySpace : uint8_t { kDevice, kHost };

// One allocation, freed when destroyed. The device must outlive it. 256-byte
// aligned; contents undefined (zero pages or old bytes).
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual std::byte* data() const = 0;
  virtual int64_t num_bytes() const = 0;
};

struct StreamOptions {
  std::string name = {};  // shown in traces and debuggers
};

struct EventOptions {
  bool timing = false;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string_view name() const = 0;  // "cpu", "inline", "cuda:0"
  virtual DeviceKind kind() const = 0;        // which kernels run here
  // The name of the hardware, "NVIDIA H200"; empty if it does not matter.
  virtual std::string_view model() const { return {}; }
  // Whether the host may read and write memory of both spaces through data()
  // while no stream uses it.
  virtual bool host_addressable() const { return false; }

  // Host memory is pinned: for asynchronous copies, and for kernels. Errors:
  // RESOURCE_EXHAUSTED with the bytes asked for and the bytes free.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(
      MemorySpace space, int64_t bytes) = 0;

  // Bytes that a device allocation could get now.
  virtual absl::StatusOr<int64_t> FreeBytes() const = 0;

  // By how many bytes the driver's free memory has shrunk since the device was
  // opened: allocations, memory of libraries and of other processes. Nothing if
  // the driver does not report it, or device memory is the host's.
  virtual std::optional<int64_t> DriverBytesTaken() const { return {}; }

  // Number of threads of its kernels; nothing if they do not run on the host.
  virtual std::optional<int> kernel_threads() const { return {}; }

  // Whether its streams can capture (stream.h).
  virtual bool can_capture() const { return false; }

  // Number of Allocate calls so far, in both spaces.
  virtual int64_t allocations() const = 0;

  virtual absl::StatusOr<std::unique_ptr<Stream>> NewStream(
      const StreamOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<Event>> NewEvent(
      const EventOptions& options) = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_DEVICE_H_
