// gpu_suite.cc on a real GPU; skipped where there is none.
#include <memory>

#include "executor/device/registry.h"
#include "ops/all_ops.h"
#include "tests/ops/gpu_under_test.h"

namespace spillway::testing {

absl::StatusOr<Device*> GpuUnderTest() {
  static const absl::StatusOr<std::unique_ptr<Device>> gpu =
      NewDevice("cuda", {});
  if (!gpu.ok()) return gpu.status();
  return gpu->get();
}

const KernelRegistry& GpuKernels() { return StandardKernels(); }

}  // namespace spillway::testing
