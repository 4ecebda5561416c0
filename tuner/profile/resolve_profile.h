// Chooses the device profile for predictions: a named or given one, one that
// was measured on this machine before, or assumed rates.
#ifndef SPILLWAY_TUNER_PROFILE_RESOLVE_PROFILE_H_
#define SPILLWAY_TUNER_PROFILE_RESOLVE_PROFILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "simulator/device_profile.h"
#include "tuner/step_options.h"

namespace spillway {

// "cpu, 2 threads, link 1.5 gbps" or "NVIDIA H200, tf32": the device that these
// options open, as far as it affects times. Errors: as OpenDevice.
absl::StatusOr<std::string> DescribeDevice(const StepOptions& options);

// The libraries whose kernels that device runs, with versions. Errors: as
// OpenDevice and KernelLibraries.
absl::StatusOr<std::string> LibrariesOf(const StepOptions& options);

// The file in which `spillway profile` saves its measurements of that device:
// $XDG_CACHE_HOME/spillway/cpu_2_threads_link_1.5_gbps.json, or under
// $HOME/.cache; empty if neither variable is set. Errors: as OpenDevice.
absl::StatusOr<std::string> CachedProfilePath(const StepOptions& options);

// Whether a profile was named or given. It describes a machine that may differ
// from the one with the device.
bool IsNamed(const ProfileChoice& profile);

// options.profile; if that is empty, the cached profile of this device and
// link, else the cached profile of the device at full speed, else assumed
// rates. With AlgorithmChoice::kSame, the algorithms are those measured at full
// speed. A cached profile of other library versions is ignored. With
// options.link_gbps no copy is faster than that; with options.capture_steps the
// host issues no individual steps of a plan. Its network is that of
// options.network (NetworkOf). Errors: INVALID_ARGUMENT for a bad file, naming
// the option or the file; those of NetworkOf.
absl::StatusOr<DeviceProfile> ResolveProfile(const StepOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_RESOLVE_PROFILE_H_
