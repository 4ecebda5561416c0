// Feeds arbitrary bytes to the reader of gzip files. Its output respects the
// limit, for any compression ratio.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "tests/fuzz/fuzz_input.h"
#include "training/data/gzip.h"

// libFuzzer defines the name and the types.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kMostBytes = 1 << 16;
  const std::string_view bytes = spillway::FuzzInput(data, size);
  const auto unpacked = spillway::Gunzip(bytes, "<fuzz>", kMostBytes);
  if (!unpacked.ok()) return 0;
  SPILLWAY_CHECK(spillway::IsGzip(bytes));
  SPILLWAY_CHECK(static_cast<int64_t>(unpacked->size()) <= kMostBytes);
  return 0;
}
