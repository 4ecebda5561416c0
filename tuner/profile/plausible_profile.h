// Corrects what a measurement on a busy machine can get wrong, before it
// becomes a device profile: unusable rounds, and numbers that no machine has.
// Pure functions of the samples, without a clock or a device. Thread-safe.
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

// Attempts at a measurement until it is plausible.
inline constexpr int kMostAttempts = 3;

// Steps alone, then steps during copies.
struct ContentionRound {
  double alone_ns = 0;       // of one step
  double beside_ns = 0;      // of one step during copies
  int64_t copied_bytes = 0;  // while those steps ran
  double copying_ns = 0;     // in which these bytes were copied
};

// DeviceProfile::kernel_ns_per_copied_byte: the median over the rounds, 0 if
// steps were faster during copies. A round counts only if something was copied
// and its times are positive and finite. nullopt: no round counts, or the
// median exceeds the limit of a profile.
std::optional<double> SlowdownOf(std::span<const ContentionRound> rounds);

// The factor from the kernels' time with a timeline to their time in a step
// without one: (step - others - call) / kernels. nullopt: the factor is not in
// [0.1, 10], so the two kinds of step did not run under the same load.
// Nanoseconds.
struct KernelScaleInputs {
  double step_ns = 0;     // without a timeline
  double others_ns = 0;   // of a step, outside its kernels
  double call_ns = 0;     // of the host
  double kernels_ns = 0;  // of all kernels, with a timeline
};
std::optional<double> KernelScale(const KernelScaleInputs& inputs);

// The same factor, clamped into that range.
double ClampedKernelScale(const KernelScaleInputs& inputs);

// Clamps every number into the range that ParseDeviceProfile accepts, and makes
// the link's tables consistent: no copy takes longer alone than during a copy
// in the other direction, or longer than a copy of more bytes. (Disturbances
// only make a copy longer, so the longer time is lowered.) Returns a sentence
// for each changed number, except for copy times that differ by less than a
// factor of two, which is noise.
std::vector<std::string> MakePlausible(DeviceProfile& profile);

struct PlausibleProfile {
  DeviceProfile profile = {};
  std::vector<std::string> notes = {};  // from MakePlausible
};

// Measures until MakePlausible changes nothing, but at most kMostAttempts
// times, and returns the attempt with the fewest notes. Errors: the first that
// `measure` returns.
absl::StatusOr<PlausibleProfile> MeasurePlausibly(
    const std::function<absl::StatusOr<DeviceProfile>()>& measure);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_PLAUSIBLE_PROFILE_H_
