// The scale of the loss that follows what float16 gradients can hold: halved
// when a gradient overflows, doubled after many updates without.
//
// Source: Micikevicius et al., ICLR 2018, section 3.2; the counts are those of
// tf_cnn_benchmarks.
#ifndef SPILLWAY_TRAINING_LOOP_LOSS_SCALE_H_
#define SPILLWAY_TRAINING_LOOP_LOSS_SCALE_H_

#include <cstdint>

#include "absl/status/status.h"

namespace spillway {

struct LossScaleState {
  double scale = 32768;  // a power of two, from 1 to 2^24
  int64_t good = 0;      // updates since the last change
  int64_t skipped = 0;   // the last updates, without one between them

  friend bool operator==(const LossScaleState&,
                         const LossScaleState&) = default;
};

// INVALID_ARGUMENT for a state that no training can be in.
absl::Status CheckLossScaleState(const LossScaleState& state);

inline constexpr int64_t kGoodUpdatesBeforeDoubling = 1000;
inline constexpr int64_t kMostSkippedUpdates = 20;
inline constexpr double kMostLossScale = 16'777'216;  // 2^24

// After an update whose gradients are all finite, or not, in which case it is
// skipped. Errors: OUT_OF_RANGE when as many as kMostSkippedUpdates in a row
// were skipped.
absl::Status AdvanceLossScale(bool is_finite, LossScaleState& state);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_LOOP_LOSS_SCALE_H_
