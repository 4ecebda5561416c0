// The program on a fake GPU: a fake CUDA runtime, CUDA sources that run as
// fibers, fakes of cuDNN, cuBLASLt and NCCL. Everything else is the real
// program, so that commands for a GPU can be tested without one. Its times are
// meaningless. SPILLWAY_FAKE_GPUS: how many there are; default 1.
//
// Linked without spillway::cuda, whose table of functions is defined here.
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <utility>

#include "executor/device/cuda/cuda_backend.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/library/cublas_lt.h"
#include "ops/gpu/library/cudnn.h"
#include "tests/comm/nccl/fake_nccl.h"
#include "tests/ops/gpu/fake_cublas_lt.h"
#include "tests/ops/gpu/fake_cudnn.h"
#include "tests/support/emulated_queue.h"
#include "tests/support/fake_cuda.h"
#include "tools/spillway/command_line.h"

namespace spillway {
namespace {

testing::FakeCuda& TheGpu() {
  // Never destroyed: handles of the libraries outlive main.
  static auto* const gpu = [] {
    const char* const count = std::getenv("SPILLWAY_FAKE_GPUS");
    return new testing::FakeCuda(count == nullptr ? 1 : std::atoi(count),
                                 /*device_bytes=*/size_t{1} << 30);
  }();
  return *gpu;
}

void Submit(void* stream, std::function<void()> work) {
  TheGpu().Submit(stream, std::move(work));
}

CudaApi& Runtime() { return TheGpu(); }

absl::StatusOr<NcclApi*> Nccl() {
  static auto* const nccl =
      new testing::FakeNccl(testing::MeetingOfProcesses(), Submit);
  return nccl;
}

// Takes the memory of a handle. Never freed, as handles outlive main.
void TakeMemory() {
  constexpr size_t kHandleBytes = size_t{48} << 20;
  void* memory = nullptr;
  static_cast<void>(TheGpu().Malloc(&memory, kHandleBytes));
}

}  // namespace
}  // namespace spillway

extern "C" {
const spillway::CudaBackend spillway_cuda_backend = {
    .runtime = spillway::Runtime,
    .add_kernels = spillway::AddGpuKernels,
    .libraries = spillway::GpuLibraries,
    .open_libraries = spillway::OpenGpuLibraries,
    .nccl = spillway::Nccl,
};
}

int main(int argc, char** argv) {
  using namespace spillway;
  cuda_emulation::SetQueue(Submit);
  testing::FakeCudnn().queue = Submit;
  testing::FakeCublasLt().queue = Submit;
  testing::FakeCudnn().on_handle = TakeMemory;
  testing::FakeCublasLt().on_handle = TakeMemory;
  SetCudnnForTest(&testing::FakeCudnnApi());
  SetCublasLtForTest(&testing::FakeCublasLtApi());
  return RunCommandLine({argv + 1, argv + argc});
}
