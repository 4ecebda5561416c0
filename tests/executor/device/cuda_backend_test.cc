// A program with a linked CUDA backend, here a fake one, defined under the
// symbol that spillway::cuda defines. registry_test.cc tests a program without
// one.
#include "executor/device/cuda/cuda_backend.h"

#include <cstddef>

#include "executor/device/registry.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

CudaApi& Runtime() {
  static testing::FakeCuda gpu(/*devices=*/1,
                               /*device_bytes=*/size_t{1} << 20);
  return gpu;
}

}  // namespace
}  // namespace spillway

extern "C" {
const spillway::CudaBackend spillway_cuda_backend = {
    .runtime = spillway::Runtime,
};
}

namespace spillway {
namespace {

TEST(CudaBackend, DevicesOfALinkedBackendAreFoundByName) {
  ASSERT_EQ(LinkedCudaBackend(), &spillway_cuda_backend);
  for (const char* name : {"cuda", "cuda:0", ""}) {
    ASSERT_OK_AND_ASSIGN(const auto device, NewDevice(name, {}));
    EXPECT_EQ(device->kind(), DeviceKind::kCuda) << name;
  }
}

TEST(CudaBackend, AGpuThatTheMachineLacksIsUnavailable) {
  EXPECT_THAT(NewDevice("cuda:1", {}),
              testing::StatusIs(absl::StatusCode::kUnavailable,
                                ::testing::HasSubstr("the device cpu")));
}

}  // namespace
}  // namespace spillway
