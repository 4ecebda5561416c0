// The cuda backend's streams, events and captured work (cuda_device.h).
#ifndef SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_STREAM_H_
#define SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_STREAM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "executor/device/cuda/cuda_api.h"
#include "executor/device/cuda/cuda_clock.h"
#include "executor/device/event.h"
#include "executor/device/stream.h"

namespace spillway {

// A stream of GPU number `device`, which must be the thread's current GPU.
// `host_threads`: of an OpenMP region inside a task on the host. `api` is
// borrowed for the lifetime of the result.
absl::StatusOr<std::unique_ptr<Stream>> NewCudaStream(CudaApi& api, int device,
                                                      int host_threads);

// `clock` (borrowed): for an event with timing; null: without timing.
absl::StatusOr<std::unique_ptr<Event>> NewCudaEvent(CudaApi& api,
                                                    CudaClock* clock);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_STREAM_H_
