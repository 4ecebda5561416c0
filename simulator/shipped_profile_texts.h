// The files of profiles/ as they were at build time (CMakeLists.txt).
#ifndef SPILLWAY_SIMULATOR_SHIPPED_PROFILE_TEXTS_H_
#define SPILLWAY_SIMULATOR_SHIPPED_PROFILE_TEXTS_H_

#include <span>
#include <string_view>

namespace spillway {

struct ShippedProfileText {
  std::string_view name = {};  // "h200_pcie5"
  std::string_view json = {};
};

// Sorted by name.
std::span<const ShippedProfileText> ShippedProfileTexts();

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_SHIPPED_PROFILE_TEXTS_H_
