// gpu/suite.cc without a GPU: the CUDA sources run as fibers
// (tests/support/cuda_emulation.h) on a fake runtime.
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "executor/device/cuda/cuda_device.h"
#include "tests/comm/nccl/fake_nccl.h"
#include "tests/ops/gpu/emulated_kernel.h"
#include "tests/ops/gpu/run_on_device.h"
#include "tests/ops/gpu/under_test.h"
#include "tests/support/cuda_emulation.h"
#include "tests/support/fake_cuda.h"

namespace spillway::testing {
namespace {

FakeCuda& Cuda() {
  static FakeCuda cuda;
  return cuda;
}

void Submit(void* stream, std::function<void()> work) {
  Cuda().Submit(stream, std::move(work));
}

Device& Gpu() {
  static const std::unique_ptr<Device> gpu = [] {
    cuda_emulation::SetQueue(Submit);
    return NewCudaDevice(Cuda(), 0, {}).value();
  }();
  return *gpu;
}

Communicator* SingleRank() {
  static FakeNccl nccl(MeetingOfThreads(std::chrono::minutes(1)), Submit);
  static const std::unique_ptr<Communicator> rank = NewSingleRank(nccl).value();
  return rank.get();
}

}  // namespace

absl::Status GpuStatus() { return absl::OkStatus(); }

KernelFactory GpuFactory(const std::string& op) { return EmulatedKernel(op); }

absl::StatusOr<OpRun> RunOnGpu(const OpCase& op_case, RunOpOptions options) {
  options.factory = GpuFactory(op_case.op);
  options.slice = GpuFactory("Slice");
  return RunOnDevice(Gpu(), op_case, options, SingleRank());
}

}  // namespace spillway::testing
