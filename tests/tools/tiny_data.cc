#include "tests/tools/tiny_data.h"

#include <initializer_list>

#include "base/file.h"
#include "base/random.h"
#include "gtest/gtest.h"

namespace spillway::testing {
namespace {

void Append32(int64_t value, std::string& bytes) {
  for (const int shift : {24, 16, 8, 0}) {
    bytes += static_cast<char>((value >> shift) & 0xFF);
  }
}

// Two zero bytes, "unsigned byte", the rank, the dimensions.
std::string Header(std::initializer_list<int64_t> dims) {
  std::string bytes = {0, 0, 8, static_cast<char>(dims.size())};
  for (const int64_t dim : dims) Append32(dim, bytes);
  return bytes;
}

void Write(const std::string& path, const std::string& bytes) {
  const absl::Status written = WriteFileAtomically(path, bytes);
  EXPECT_TRUE(written.ok()) << written.ToString();
}

void WriteSplit(const std::string& prefix, int64_t count, int64_t size) {
  std::string images = Header({count, size, size});
  std::string labels = Header({count});
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = i % 10;
    labels += static_cast<char>(label);
    for (int64_t pixel = 0; pixel < size * size; ++pixel) {
      const uint32_t noise =
          Philox4x32(static_cast<uint64_t>(i), static_cast<uint64_t>(pixel))[0];
      const bool bright = pixel / size == label;
      images += static_cast<char>(noise % 64 + (bright ? 190 : 0));
    }
  }
  Write(prefix + "-images-idx3-ubyte", images);
  Write(prefix + "-labels-idx1-ubyte", labels);
}

}  // namespace

void WriteTinyData(const std::string& folder, const TinyData& data) {
  WriteSplit(folder + "/train", data.training_images, data.image_size);
  WriteSplit(folder + "/t10k", data.test_images, data.image_size);
}

}  // namespace spillway::testing
