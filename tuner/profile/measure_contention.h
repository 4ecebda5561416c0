// How much copies slow down concurrent kernels, for a device profile.
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
  int64_t rounds = 9;     // each runs steps alone, then during copies
  int64_t steps = 5;      // of each kind; their median counts
  StopRequest stop = {};  // called before each round
};

// The nanoseconds that each byte copied during a kernel adds to the kernel's
// time. Runs steps of program 0 alone and during copies in both directions,
// alternately, and returns the median of the rounds, at least 0 (SlowdownOf).
// Repeats if the rounds are unusable; returns 0 with a warning if they remain
// so. The copies run on `copies`, a device of the session's kind. Errors: those
// of the session and the device; CANCELLED if stopped.
absl::StatusOr<double> MeasureContention(const ContentionMeasurement& spec,
                                         const Feeds& feeds, Session& session,
                                         Device& copies);

// Matrix products to measure contention with if there is no network: a step of
// a few milliseconds. Errors: as Session::Create.
absl::StatusOr<std::unique_ptr<Session>> NewProductsSession(
    std::unique_ptr<Device> device, int threads, const MathOptions& math);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_MEASURE_CONTENTION_H_
