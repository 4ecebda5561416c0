#include "tests/tools/tiny_data.h"

#include "base/file.h"
#include "base/random.h"
#include "gtest/gtest.h"
#include "tests/training/data/make_idx.h"

namespace spillway::testing {
namespace {

void Write(const std::string& path, const std::string& bytes) {
  const absl::Status written = WriteFileAtomically(path, bytes);
  EXPECT_TRUE(written.ok()) << written.ToString();
}

void WriteSplit(const std::string& prefix, uint32_t count, uint32_t size) {
  std::string images;
  std::string labels;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t label = i % 10;
    labels += static_cast<char>(label);
    for (uint32_t pixel = 0; pixel < size * size; ++pixel) {
      const uint32_t noise = Philox4x32(i, pixel)[0];
      const bool bright = pixel / size == label;
      images += static_cast<char>(noise % 64 + (bright ? 190 : 0));
    }
  }
  Write(prefix + "-images-idx3-ubyte", MakeIdx({count, size, size}, images));
  Write(prefix + "-labels-idx1-ubyte", MakeIdx({count}, labels));
}

}  // namespace

void WriteTinyData(const std::string& folder, const TinyData& data) {
  WriteSplit(folder + "/train", data.training_images, data.image_size);
  WriteSplit(folder + "/t10k", data.test_images, data.image_size);
}

}  // namespace spillway::testing
