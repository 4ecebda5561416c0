// Feeds arbitrary bytes to the reader of data sets in safetensors files. Every
// sample of a set that it accepts can be read, and has a label below the number
// of classes.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "tests/fuzz/fuzz_input.h"
#include "training/data/tensor_file.h"

// libFuzzer defines the name and the types.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto set =
      spillway::TensorFile::Parse(spillway::FuzzInput(data, size), "<fuzz>");
  if (!set.ok()) return 0;
  SPILLWAY_CHECK((*set)->size() > 0);
  for (const int64_t index : {int64_t{0}, (*set)->size() - 1}) {
    const auto sample = (*set)->Get(index);
    SPILLWAY_CHECK(sample.ok());
    const int32_t label = *sample->fields[1].data<int32_t>();
    SPILLWAY_CHECK(label >= 0 && label < (*set)->num_classes());
  }
  return 0;
}
