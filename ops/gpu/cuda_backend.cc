#include "executor/device/cuda/cuda_backend.h"

#include "executor/device/cuda/cuda_runtime.h"
#include "ops/gpu/factories.h"

extern "C" {
const spillway::CudaBackend spillway_cuda_backend = {
    .runtime = spillway::CudaRuntime,
    .add_kernels = spillway::AddGpuKernels,
    .libraries = spillway::GpuLibraries,
    .open_libraries = spillway::OpenGpuLibraries,
};
}
