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

// Of GPU number `device`, which is the thread's. `api` is borrowed for the life
// of what is made.
absl::StatusOr<std::unique_ptr<Stream>> NewCudaStream(CudaApi& api, int device);

// `clock`, borrowed: of an event with timing; null: without.
absl::StatusOr<std::unique_ptr<Event>> NewCudaEvent(CudaApi& api,
                                                    CudaClock* clock);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_STREAM_H_
