// The cuda backend: device memory and streams of one GPU, pinned host memory.
//
//   Allocate(kDevice)  cudaMalloc, within the capacity if one is given
//   Allocate(kHost)    cudaHostAlloc: pinned, for copies beside kernels; near
//                      the GPU where Linux says where that is
//   Stream             a non-blocking cudaStream_t
//   Event              a cudaEvent_t, without timing unless it is asked for
//   CapturedWork       a cudaGraphExec_t; captures are of one thread each
//
// A stream keeps no queue of its own: work is queued on the GPU when it is
// issued. So an error of a task is known at once, but kept until Synchronize,
// as stream.h has it; an error of a CUDA call is returned by the call, with its
// name. Copies take pageable memory as well, and then wait for it.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_DEVICE_H_
#define SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "executor/device/cuda/cuda_api.h"
#include "executor/device/device.h"
#include "executor/device/registry.h"

namespace spillway {

// GPU number `index`, which becomes this thread's. `api` is borrowed for the
// device's life. Options were checked (registry.h). Threads: any may call the
// device. Errors: UNAVAILABLE with the driver's reason where there is no GPU,
// or not so many.
absl::StatusOr<std::unique_ptr<Device>> NewCudaDevice(
    CudaApi& api, int index, const DeviceOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_DEVICE_H_
