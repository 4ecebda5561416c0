// The GPU that gpu_suite.cc tests: a real one in gpu_device_test.cc, a fake one
// whose kernels run as fibers in gpu_kernels_test.cc.
#ifndef SPILLWAY_TESTS_OPS_GPU_UNDER_TEST_H_
#define SPILLWAY_TESTS_OPS_GPU_UNDER_TEST_H_

#include "absl/status/statusor.h"
#include "executor/device/device.h"
#include "executor/kernel_registry.h"

namespace spillway::testing {

// One for the program. Errors: UNAVAILABLE where there is none.
absl::StatusOr<Device*> GpuUnderTest();

// The kernels of DeviceKind::kCuda.
const KernelRegistry& GpuKernels();

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_GPU_UNDER_TEST_H_
