// Errors of CUDA calls as Status.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_STATUS_H_
#define SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_STATUS_H_

#include <string_view>

#include "absl/status/status.h"
#include "executor/device/cuda/cuda_api.h"

namespace spillway {

// "cudaMalloc: out of memory (CUDA error 2)": UNAVAILABLE if there is no GPU or
// no driver for it, RESOURCE_EXHAUSTED for memory, else INTERNAL.
absl::Status CudaStatus(const CudaApi& api, CudaApi::Error error,
                        std::string_view call);

// The same, but logged: for failures while freeing or destroying, which cannot
// be reported to a caller.
void LogCudaFailure(const CudaApi& api, CudaApi::Error error,
                    std::string_view call);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_STATUS_H_
