// Feeds any bytes to the reader of device profiles. Whatever it accepts must be
// written and read back as the same profile, to the last digit.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "simulator/device_profile.h"
#include "tests/fuzz/fuzz_input.h"

// The name and the types are libFuzzer's.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto profile =
      spillway::ParseDeviceProfile(spillway::FuzzInput(data, size), "<fuzz>");
  if (!profile.ok()) return 0;
  const std::string written = spillway::FormatDeviceProfile(*profile);
  const auto again = spillway::ParseDeviceProfile(written, "<written>");
  SPILLWAY_CHECK(again.ok());
  SPILLWAY_CHECK(spillway::FormatDeviceProfile(*again) == written);
  return 0;
}
