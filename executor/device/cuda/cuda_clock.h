// The clock on which a GPU's timing events are read.
//
// CUDA returns the time between two events, as a float of milliseconds. So
// times count from a reference event, the zero. A float resolves microseconds
// only for some seconds; therefore a new zero is recorded, and synchronised
// with, every few seconds.
#ifndef SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_CLOCK_H_
#define SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_CLOCK_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "executor/device/cuda/cuda_api.h"

namespace spillway {

// Thread-safe.
class CudaClock {
 public:
  class Zero {
   public:
    Zero(CudaApi& api, CudaApi::Event event) : api_(api), event_(event) {}
    ~Zero() { api_.EventDestroy(event_); }
    Zero(const Zero&) = delete;
    Zero& operator=(const Zero&) = delete;

    // Time since the clock's first zero; 0 if CUDA cannot tell. `event` must
    // have been reached.
    int64_t TimeNsOf(CudaApi::Event event) const;

   private:
    friend class CudaClock;

    CudaApi& api_;
    const CudaApi::Event event_;
    int64_t ns_ = 0;  // since the first zero
  };

  // The API is borrowed.
  explicit CudaClock(CudaApi& api) : api_(api) {}

  // The zero for an event that is about to be recorded in `stream`. Errors: as
  // CudaStatus.
  absl::StatusOr<std::shared_ptr<const Zero>> ZeroFor(CudaApi::Stream stream);

 private:
  using HostClock = std::chrono::steady_clock;

  absl::StatusOr<std::shared_ptr<Zero>> NewZero(CudaApi::Stream stream);

  CudaApi& api_;
  std::mutex mutex_;
  std::shared_ptr<const Zero> zero_;
  HostClock::time_point set_at_;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_DEVICE_CUDA_CUDA_CLOCK_H_
