#include "executor/device/cuda/cuda_clock.h"

#include <utility>

#include "base/status_macros.h"
#include "executor/device/cuda/cuda_status.h"

namespace spillway {
namespace {

// Up to this time a float of milliseconds resolves half a microsecond.
constexpr std::chrono::seconds kZeroLasts{4};

}  // namespace

int64_t CudaClock::Zero::TimeNsOf(CudaApi::Event event) const {
  float milliseconds = 0;
  if (api_.EventElapsedTime(&milliseconds, event_, event) != 0) return 0;
  return ns_ + static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
}

absl::StatusOr<std::shared_ptr<const CudaClock::Zero>> CudaClock::ZeroFor(
    CudaApi::Stream stream) {
  const std::scoped_lock lock(mutex_);
  const HostClock::time_point now = HostClock::now();
  if (zero_ == nullptr || now - set_at_ >= kZeroLasts) {
    SPILLWAY_ASSIGN_OR_RETURN(std::shared_ptr<Zero> zero, NewZero(stream));
    if (zero_ != nullptr) zero->ns_ = zero_->TimeNsOf(zero->event_);
    zero_ = std::move(zero);
    set_at_ = now;
  }
  return zero_;
}

absl::StatusOr<std::shared_ptr<CudaClock::Zero>> CudaClock::NewZero(
    CudaApi::Stream stream) {
  CudaApi::Event event = nullptr;
  SPILLWAY_RETURN_IF_ERROR(CudaStatus(
      api_, api_.EventCreate(&event, /*timing=*/true), "cudaEventCreate"));
  auto zero = std::make_shared<Zero>(api_, event);
  SPILLWAY_RETURN_IF_ERROR(
      CudaStatus(api_, api_.EventRecord(event, stream), "cudaEventRecord"));
  SPILLWAY_RETURN_IF_ERROR(
      CudaStatus(api_, api_.EventSynchronize(event), "cudaEventSynchronize"));
  return zero;
}

}  // namespace spillway
