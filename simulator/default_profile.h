// A profile to go by where nothing was measured.
#ifndef SPILLWAY_SIMULATOR_DEFAULT_PROFILE_H_
#define SPILLWAY_SIMULATOR_DEFAULT_PROFILE_H_

#include "simulator/device_profile.h"

namespace spillway {

// A CPU whose kernels use `threads` cores: assumed rates of a server core with
// AVX-512. Times from it compare plans rather than predict a machine.
DeviceProfile DefaultCpuProfile(int threads);
DeviceProfile DefaultGpuProfile();

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_DEFAULT_PROFILE_H_
