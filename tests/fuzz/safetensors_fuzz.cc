// Feeds arbitrary bytes to the reader of safetensors files. Tensors that it
// accepts partition the data of the file.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "tests/fuzz/fuzz_input.h"
#include "training/safetensors.h"

// libFuzzer defines the name and the types.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tensors =
      spillway::ParseSafetensors(spillway::FuzzInput(data, size), "<fuzz>");
  if (!tensors.ok()) return 0;
  constexpr size_t kSizeOfHeader = 8;
  size_t bytes = kSizeOfHeader;
  for (const auto& [name, tensor] : *tensors) {
    SPILLWAY_CHECK(static_cast<int64_t>(tensor.bytes.size()) ==
                   tensor.type.num_bytes());
    bytes += tensor.bytes.size();
  }
  SPILLWAY_CHECK(bytes < size);
  return 0;
}
