// Device: where bytes and kernels live. Backends: inline (synchronous, the
// reference), cpu (streams are worker threads), cuda. One conformance suite,
// tests/executor/device/conformance_test.cc, holds for all of them.
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
  // What the hardware calls itself, "NVIDIA H200"; empty where it is no matter.
  virtual std::string_view model() const { return {}; }
  // The host may read and write memory of both spaces through data() while no
  // stream works on it.
  virtual bool host_addressable() const { return false; }

  // Host memory is pinned: for asynchronous copies, and for kernels. Errors:
  // RESOURCE_EXHAUSTED with bytes asked and bytes free.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> Allocate(
      MemorySpace space, int64_t bytes) = 0;

  // Bytes a device allocation could get now, read at this moment.
  virtual absl::StatusOr<int64_t> FreeBytes() const = 0;

  // How many bytes less the driver has free than when the device was opened:
  // allocations, what libraries took, and what other processes took since. None
  // where it does not say, or device memory is the host's.
  virtual std::optional<int64_t> DriverBytesTaken() const { return {}; }

  // How many threads its kernels run with; none where they do not run on the
  // host.
  virtual std::optional<int> kernel_threads() const { return {}; }

  // Its streams can capture (stream.h).
  virtual bool can_capture() const { return false; }

  // Allocate calls so far, in both spaces.
  virtual int64_t allocations() const = 0;

  virtual absl::StatusOr<std::unique_ptr<Stream>> NewStream(
      const StreamOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<Event>> NewEvent(
      const EventOptions& options) = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_DEVICE_H_
