// gpu_suite.cc on a real GPU; skipped where there is none.
#include <memory>

#include "executor/device/registry.h"
#include "ops/all_ops.h"
#include "tests/ops/gpu_under_test.h"
#include "tests/ops/run_on_device.h"

namespace spillway::testing {
namespace {

const absl::StatusOr<std::unique_ptr<Device>>& Gpu() {
  static const absl::StatusOr<std::unique_ptr<Device>> gpu =
      NewDevice("cuda", {});
  return gpu;
}

}  // namespace

absl::Status GpuStatus() { return Gpu().status(); }

KernelFactory GpuFactory(const std::string& op) {
  return StandardKernels().Find(op, DeviceKind::kCuda);
}

absl::StatusOr<OpRun> RunOnGpu(const OpCase& op_case,
                               std::optional<BufferPair> in_place) {
  return RunOnDevice(**Gpu(), GpuFactory(op_case.op), op_case, in_place);
}

}  // namespace spillway::testing
