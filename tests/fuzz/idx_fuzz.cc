// Feeds arbitrary bytes to the reader of IDX files. An array that it accepts
// has as many elements as its dimensions say.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "tests/fuzz/fuzz_input.h"
#include "training/data/idx.h"

// libFuzzer defines the name and the types.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto array =
      spillway::ParseIdx(spillway::FuzzInput(data, size), "<fuzz>");
  if (!array.ok()) return 0;
  int64_t elements = 1;
  for (const int64_t dim : array->dims) {
    SPILLWAY_CHECK(dim > 0);
    elements *= dim;
  }
  SPILLWAY_CHECK(static_cast<size_t>(elements) == array->values.size());
  SPILLWAY_CHECK(array->values.size() < size);
  return 0;
}
