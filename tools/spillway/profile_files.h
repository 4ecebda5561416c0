// Which device profile a prediction goes by: a file that was named, one that
// `spillway profile` left for this machine, or assumed rates.
#ifndef SPILLWAY_TOOLS_SPILLWAY_PROFILE_FILES_H_
#define SPILLWAY_TOOLS_SPILLWAY_PROFILE_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "simulator/device_profile.h"
#include "tools/spillway/device_flags.h"

namespace spillway {

// "cpu, 2 threads, link 1.5 gbps" or "NVIDIA H200, tf32": the device that these
// flags open, as far as times depend on it. Errors:
// as OpenDevice.
absl::StatusOr<std::string> DescribeDevice(const DeviceFlags& flags);

// The libraries whose kernels that device runs, with their versions. Errors: as
// OpenDevice and KernelLibraries.
absl::StatusOr<std::string> LibrariesOf(const DeviceFlags& flags);

// The file in which `profile` keeps what it measured of that device:
// $XDG_CACHE_HOME/spillway/cpu_2_threads_link_1.5_gbps.json, or under
// $HOME/.cache; empty where the environment has neither. Errors: as OpenDevice.
absl::StatusOr<std::string> CachedProfilePath(const DeviceFlags& flags);

// `path` is that of --profile; where it is empty, the cached profile of this
// device and link, else that of the device at full speed, else assumed rates.
// A cached profile of other versions of the libraries does not count.
// With --link_gbps no copy is faster than that; with --cuda_graph no step of a
// plan is issued by itself. Errors: INVALID_ARGUMENT for a
// bad file, naming the flag or the file.
absl::StatusOr<DeviceProfile> ResolveProfile(const std::string& path,
                                             const DeviceFlags& flags);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_PROFILE_FILES_H_
