// Which device profile a prediction goes by: one that was named or given, one
// that was measured of this machine before, or assumed rates.
#ifndef SPILLWAY_TUNER_PROFILE_RESOLVE_PROFILE_H_
#define SPILLWAY_TUNER_PROFILE_RESOLVE_PROFILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "simulator/device_profile.h"
#include "tuner/step_options.h"

namespace spillway {

// "cpu, 2 threads, link 1.5 gbps" or "NVIDIA H200, tf32": the device that these
// options open, as far as times depend on it. Errors: as OpenDevice.
absl::StatusOr<std::string> DescribeDevice(const StepOptions& options);

// The libraries whose kernels that device runs, with their versions. Errors: as
// OpenDevice and KernelLibraries.
absl::StatusOr<std::string> LibrariesOf(const StepOptions& options);

// The file in which `spillway profile` keeps what it measured of that device:
// $XDG_CACHE_HOME/spillway/cpu_2_threads_link_1.5_gbps.json, or under
// $HOME/.cache; empty where the environment has neither. Errors: as OpenDevice.
absl::StatusOr<std::string> CachedProfilePath(const StepOptions& options);

// Whether it names or is a machine, which need not be the one that the device
// is on.
bool IsNamed(const ProfileChoice& profile);

// options.profile; where that is empty, the cached profile of this device and
// link, else that of the device at full speed, else assumed rates. With
// AlgorithmChoice::kSame, the algorithms are those measured at full speed. A
// cached profile of other versions of the libraries does not count. With
// options.link_gbps no copy is faster than that; with options.capture_steps no
// step of a plan is issued by itself. Errors: INVALID_ARGUMENT for a
// bad file, naming the option or the file.
absl::StatusOr<DeviceProfile> ResolveProfile(const StepOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_PROFILE_RESOLVE_PROFILE_H_
