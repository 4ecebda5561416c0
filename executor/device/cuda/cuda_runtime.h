// The CUDA runtime as a CudaApi. In builds with CUDA only.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_RUNTIME_H_
#define SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_RUNTIME_H_

#include "executor/device/cuda/cuda_api.h"

namespace spillway {

// One per process; any thread may call it.
CudaApi& CudaRuntime();

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_RUNTIME_H_
