// The device profiles that are part of the library, by name: the files of
// simulator/profiles at build time.
#ifndef SPILLWAY_SIMULATOR_SHIPPED_PROFILES_H_
#define SPILLWAY_SIMULATOR_SHIPPED_PROFILES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "simulator/device_profile.h"

namespace spillway {

// "h200_pcie5", "p100_nvlink", ...: the file names without ".json", sorted.
std::vector<std::string> ShippedProfileNames();

bool IsShippedProfile(std::string_view name);

// Errors: NOT_FOUND with the available names.
absl::StatusOr<DeviceProfile> ShippedProfile(std::string_view name);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_SHIPPED_PROFILES_H_
