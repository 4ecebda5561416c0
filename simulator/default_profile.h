// Profiles of assumed rates, used where nothing was measured.
#ifndef SPILLWAY_SIMULATOR_DEFAULT_PROFILE_H_
#define SPILLWAY_SIMULATOR_DEFAULT_PROFILE_H_

#include "simulator/device_profile.h"

namespace spillway {

// A CPU whose kernels use `threads` cores, with the assumed rates of a server
// core with AVX-512. Its times serve to compare plans, not to predict a
// machine.
DeviceProfile DefaultCpuProfile(int threads);
DeviceProfile DefaultGpuProfile();

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_DEFAULT_PROFILE_H_
