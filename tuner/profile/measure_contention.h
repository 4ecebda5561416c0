// How much copies slow the kernels that run beside them, for a device profile.
#ifndef SPILLWAY_TUNER_PROFILE_MEASURE_CONTENTION_H_
#define SPILLWAY_TUNER_PROFILE_MEASURE_CONTENTION_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "base/stop_request.h"
#include "executor/device/device.h"
#include "executor/kernel.h"
#include "executor/session/session.h"

namespace spillway {

struct ContentionMeasurement {
  int64_t rounds = 9;     // each runs steps alone, and beside copies
  int64_t steps = 5;      // of each; their median counts
  StopRequest stop = {};  // asked before each round
};

// Nanoseconds by which a kernel takes longer for each byte that is copied
// beside it: steps of program 0 alone and beside copies of both directions, in
// turns; the median of the rounds, at least 0 (SlowdownOf). Measured again
// where the rounds say nothing; 0 with a warning if that stays so. The copies
// run on `copies`, a device of the session's kind. Errors: what the session or
// the device says; CANCELLED if stopped.
absl::StatusOr<double> MeasureContention(const ContentionMeasurement& spec,
                                         const Feeds& feeds, Session& session,
                                         Device& copies);

// Matrix products to measure it by where there is no network: a step of a few
// milliseconds. Errors: as Session::Create.
absl::StatusOr<std::unique_ptr<Session>> NewProductsSession(
    std::unique_ptr<Device> device, int threads, const MathOptions& math);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_MEASURE_CONTENTION_H_
