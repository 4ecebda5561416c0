// The warm-up of large-batch SGD: a factor on the learning rate that climbs
// from 1 to the batch scale S.
//
//   factor
//    S |              .------     an update takes S batches, as if one batch
//      |          . '             were S times as large, and needs a rate that
//      |      . '                 is S times as high, though not at first
//    1 |  . '
//      +--+-----------+------  n: batches done before
//         0         nwup = warmup_epochs * updates_per_epoch
//
// Source: MXNet's LBSGD optimizer, versions 1.2 to 1.9.
#ifndef SPILLWAY_TRAINING_RATE_LARGE_BATCH_WARM_UP_H_
#define SPILLWAY_TRAINING_RATE_LARGE_BATCH_WARM_UP_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "training/rate/lr_schedule.h"

namespace spillway {

enum class WarmUpStrategy : uint8_t {
  kLinear,  // 1 + (S - 1) p, where p = n / nwup
  kPower2,  // 1 + (S - 1) p^2
  kSqrt,    // 1 + (S - 1) sqrt(p)
  kLars,    // 1 throughout: the ratio of each layer takes its place
};

// linear, power2, sqrt, lars. Errors: INVALID_ARGUMENT that lists them.
absl::StatusOr<WarmUpStrategy> ParseWarmUpStrategy(std::string_view name);

struct LargeBatchWarmUp {
  WarmUpStrategy strategy = WarmUpStrategy::kLinear;
  int64_t warmup_epochs = 5;
  int64_t batch_scale = 1;         // S: batches of an update
  int64_t updates_per_epoch = 32;  // batches, as MXNet counts updates
};

// Errors: INVALID_ARGUMENT naming the field, its value and what is legal.
absl::Status CheckLargeBatchWarmUp(const LargeBatchWarmUp& warm_up);

// The factor after `batches` batches, for settings that pass the check. A
// warm-up over one batch or none is over at nwup and has 1 before.
double LargeBatchFactor(const LargeBatchWarmUp& warm_up, double batches);

// `schedule` times the factor after the batches of the updates done before. So
// a training that is resumed goes on where it was. Null if `schedule` is null.
LrSchedule WithLargeBatchWarmUp(LrSchedule schedule,
                                const LargeBatchWarmUp& warm_up);

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_RATE_LARGE_BATCH_WARM_UP_H_
