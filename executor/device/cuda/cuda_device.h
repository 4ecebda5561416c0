// The cuda backend: device memory and streams of one GPU, pinned host memory.
//
//   Allocate(kDevice)  cudaMalloc, within the capacity if one is given
//   Allocate(kHost)    cudaHostAlloc: pinned, for copies that run concurrently
//                      with kernels; near the GPU if Linux reports its node
//   Stream             a non-blocking cudaStream_t
//   Event              a cudaEvent_t, without timing unless requested
//   CapturedWork       a cudaGraphExec_t; each capture belongs to one thread
//
// A stream keeps no queue: work is queued on the GPU when it is issued. So an
// error of a task is known at once, but kept until Synchronize, as stream.h
// requires; an error of a CUDA call is returned by the call, with its name.
// Copies also accept pageable memory, but are then synchronous.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_DEVICE_H_
#define SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_DEVICE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "executor/device/cuda/cuda_api.h"
#include "executor/device/device.h"
#include "executor/device/registry.h"

namespace spillway {

// Opens GPU number `index` and makes it this thread's current GPU. `api` is
// borrowed for the device's lifetime. Options must have been checked
// (registry.h). Threads: any thread may call the device. Errors: UNAVAILABLE
// with the driver's reason if there is no GPU, or no GPU of this number.
absl::StatusOr<std::unique_ptr<Device>> NewCudaDevice(
    CudaApi& api, int index, const DeviceOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_DEVICE_H_
