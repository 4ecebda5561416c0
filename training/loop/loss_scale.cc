#include "training/loop/loss_scale.h"

#include <algorithm>
#include <cmath>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {

absl::Status CheckLossScaleState(const LossScaleState& state) {
  int exponent = 0;
  const bool is_power = std::frexp(state.scale, &exponent) == 0.5;
  if (is_power && state.scale >= 1 && state.scale <= kMostLossScale &&
      state.good >= 0 && state.good <= kGoodUpdatesBeforeDoubling &&
      state.skipped >= 0 && state.skipped < kMostSkippedUpdates) {
    return absl::OkStatus();
  }
  return InvalidArgument(fmt::format(
      "a loss scale of {} after {} good updates and {} skipped ones is not "
      "possible",
      state.scale, state.good, state.skipped));
}

absl::Status AdvanceLossScale(bool is_finite, LossScaleState& state) {
  if (!is_finite) {
    state.scale = std::max(1.0, state.scale / 2);
    state.good = 0;
    if (++state.skipped < kMostSkippedUpdates) return absl::OkStatus();
    return OutOfRange(fmt::format(
        "the gradients of {} updates in a row were not finite, the last with a "
        "loss scale of {}",
        state.skipped, state.scale));
  }
  state.skipped = 0;
  if (state.good < kGoodUpdatesBeforeDoubling) {
    ++state.good;
  } else {
    state.scale = std::min(kMostLossScale, state.scale * 2);
    state.good = 0;
  }
  return absl::OkStatus();
}

}  // namespace spillway
