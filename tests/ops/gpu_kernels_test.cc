// gpu_suite.cc without a GPU: the CUDA sources run as fibers
// (tests/support/cuda_emulation.h) on a fake runtime.
#include <functional>
#include <memory>
#include <utility>

#include "executor/device/cuda/cuda_device.h"
#include "ops/gpu/factories.h"
#include "tests/ops/gpu_under_test.h"
#include "tests/ops/run_on_device.h"
#include "tests/support/cuda_emulation.h"
#include "tests/support/fake_cuda.h"

namespace spillway::testing {
namespace {

Device& Gpu() {
  static FakeCuda cuda;
  static const std::unique_ptr<Device> gpu = [] {
    cuda_emulation::SetQueue([](void* stream, std::function<void()> work) {
      cuda.Submit(stream, std::move(work));
    });
    return NewCudaDevice(cuda, 0, {}).value();
  }();
  return *gpu;
}

}  // namespace

absl::Status GpuStatus() { return absl::OkStatus(); }

KernelFactory GpuFactory(const std::string& op) {
  static const KernelRegistry kernels = [] {
    KernelRegistry made;
    AddGpuKernels(made);
    return made;
  }();
  return kernels.Find(op, DeviceKind::kCuda);
}

absl::StatusOr<OpRun> RunOnGpu(const OpCase& op_case, RunOpOptions options) {
  options.factory = GpuFactory(op_case.op);
  return RunOnDevice(Gpu(), op_case, options);
}

}  // namespace spillway::testing
