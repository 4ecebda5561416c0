#include "simulator/shipped_profiles.h"

#include <algorithm>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "simulator/shipped_profile_texts.h"

namespace spillway {

std::vector<std::string> ShippedProfileNames() {
  std::vector<std::string> names;
  for (const ShippedProfileText& each : ShippedProfileTexts()) {
    names.emplace_back(each.name);
  }
  return names;
}

bool IsShippedProfile(std::string_view name) {
  return std::ranges::count(ShippedProfileTexts(), name,
                            &ShippedProfileText::name) > 0;
}

absl::StatusOr<DeviceProfile> ShippedProfile(std::string_view name) {
  const auto texts = ShippedProfileTexts();
  const auto found = std::ranges::find(texts, name, &ShippedProfileText::name);
  if (found != texts.end()) return ParseDeviceProfile(found->json, name);
  return NotFound(fmt::format("no profile \"{}\"; shipped: {}",
                              std::string(name),
                              fmt::join(ShippedProfileNames(), ", ")));
}

}  // namespace spillway
