// The fixture for tests of a device of every backend; one that this build or
// machine lacks (UNAVAILABLE) is skipped.
#ifndef SPILLWAY_TESTS_EXECUTOR_DEVICE_DEVICE_CONFORMANCE_H_
#define SPILLWAY_TESTS_EXECUTOR_DEVICE_DEVICE_CONFORMANCE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/device/cuda/cuda_device.h"
#include "executor/device/device.h"
#include "executor/device/registry.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/status_matchers.h"

namespace spillway::testing {

class FailingTask final : public StreamTask {
 public:
  explicit FailingTask(absl::Status status) : status_(std::move(status)) {}
  absl::Status Run(void*) override { return status_; }

 private:
  const absl::Status status_;
};

class CountingTask final : public StreamTask {
 public:
  absl::Status Run(void*) override {
    ++runs;
    return absl::OkStatus();
  }
  int runs = 0;
};

// Adds 1 to each byte of host memory.
class AddingTask final : public StreamTask {
 public:
  explicit AddingTask(DeviceMemory& memory) : memory_(memory) {}
  absl::Status Run(void* native_stream) override {
    if (native_stream != nullptr) return absl::InternalError("not on the host");
    for (int64_t i = 0; i < memory_.num_bytes(); ++i) {
      std::byte& byte = memory_.data()[i];
      byte = static_cast<std::byte>(std::to_integer<int>(byte) + 1);
    }
    return absl::OkStatus();
  }

 private:
  DeviceMemory& memory_;
};

inline std::vector<std::byte> Bytes(int64_t size, int fill) {
  return std::vector<std::byte>(static_cast<size_t>(size),
                                static_cast<std::byte>(fill));
}

// The parameter is the device's name; "fake_cuda" is the cuda backend on a fake
// runtime.
class DeviceConformance : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { Open({.threads = 1}); }

  void Open(const DeviceOptions& options) {
    device_ = nullptr;
    absl::StatusOr<std::unique_ptr<Device>> device =
        GetParam() == "fake_cuda" ? NewCudaDevice(fake_cuda_, 0, options)
                                  : NewDevice(GetParam(), options);
    if (device.status().code() == absl::StatusCode::kUnavailable) {
      GTEST_SKIP() << device.status().ToString();
    }
    ASSERT_THAT(device, IsOk());
    device_ = *std::move(device);
  }

  std::unique_ptr<Stream> NewStream() {
    return device_->NewStream({.name = "test"}).value();
  }
  std::unique_ptr<Event> NewEvent(bool timing = false) {
    return device_->NewEvent({.timing = timing}).value();
  }
  std::unique_ptr<DeviceMemory> Allocate(MemorySpace space, int64_t bytes) {
    return device_->Allocate(space, bytes).value();
  }

  FakeCuda fake_cuda_;
  std::unique_ptr<Device> device_;
};

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_EXECUTOR_DEVICE_DEVICE_CONFORMANCE_H_
