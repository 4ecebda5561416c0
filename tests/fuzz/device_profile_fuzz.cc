// Feeds arbitrary bytes to the reader of device profiles. A profile that it
// accepts must be written and read back identically, to the last digit.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "simulator/device_profile.h"
#include "tests/fuzz/fuzz_input.h"

// libFuzzer defines the name and the types.
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
