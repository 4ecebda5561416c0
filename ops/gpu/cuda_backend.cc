#include "executor/device/cuda/cuda_backend.h"

#include "executor/device/cuda/cuda_runtime.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/library/nccl.h"

extern "C" {
const spillway::CudaBackend spillway_cuda_backend = {
    .runtime = spillway::CudaRuntime,
    .add_kernels = spillway::AddGpuKernels,
    .libraries = spillway::GpuLibraries,
    .open_libraries = spillway::OpenGpuLibraries,
    .nccl = spillway::NcclLibrary,
};
}
