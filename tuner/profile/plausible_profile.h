// What a measurement on a busy machine can get wrong, put right before it
// becomes a device profile: rounds that say nothing, numbers that no machine
// has. Everything here is a function of the samples, without a clock or a
// device. Threads: pure functions.
#ifndef SPILLWAY_TUNER_PROFILE_PLAUSIBLE_PROFILE_H_
#define SPILLWAY_TUNER_PROFILE_PLAUSIBLE_PROFILE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "simulator/device_profile.h"

namespace spillway {

// How often a measurement is taken until it is plausible.
inline constexpr int kMostAttempts = 3;

// Steps alone, then steps beside copies.
struct ContentionRound {
  double alone_ns = 0;       // of one step
  double beside_ns = 0;      // of one step beside copies
  int64_t copied_bytes = 0;  // while the steps beside them ran
  double copying_ns = 0;     // in which these bytes were copied
};

// DeviceProfile::kernel_ns_per_copied_byte: the median over the rounds, 0 where
// steps were faster beside copies. A round does not count if nothing was copied
// or a time is not positive and finite. None: no round counts, or the median is
// more than a profile may state.
std::optional<double> SlowdownOf(std::span<const ContentionRound> rounds);

// The part of the kernels' measured time that a step without a timeline has for
// them: (step - others - call) / kernels. None: it is not in [0.1, 10], so the
// two kinds of step did not run under the same load. Nanoseconds.
struct KernelScaleInputs {
  double step_ns = 0;     // without a timeline
  double others_ns = 0;   // of a step, beside its kernels
  double call_ns = 0;     // of the host
  double kernels_ns = 0;  // of all kernels, with a timeline
};
std::optional<double> KernelScale(const KernelScaleInputs& inputs);

// The same, brought into that range.
double ClampedKernelScale(const KernelScaleInputs& inputs);

// Brings every number into the range that ParseDeviceProfile takes, and the
// link's tables into an order that a link can have: no copy takes longer alone
// than beside the other direction, or longer than a copy of more bytes. (What
// disturbs a copy makes it longer, so the longer time is lowered.) Returns a
// sentence for each number that was changed, but for copies that differ by less
// than a factor of two, which is noise.
std::vector<std::string> MakePlausible(DeviceProfile& profile);

struct PlausibleProfile {
  DeviceProfile profile = {};
  std::vector<std::string> notes = {};  // MakePlausible's
};

// Measures until MakePlausible has nothing to say, kMostAttempts times at most,
// and returns the attempt about which it says the least. Errors: the first that
// `measure` returns.
absl::StatusOr<PlausibleProfile> MeasurePlausibly(
    const std::function<absl::StatusOr<DeviceProfile>()>& measure);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_PLAUSIBLE_PROFILE_H_
