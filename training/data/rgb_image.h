// An image in memory, as decoders return it.
#ifndef SPILLWAY_TRAINING_DATA_RGB_IMAGE_H_
#define SPILLWAY_TRAINING_DATA_RGB_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace spillway {

struct RgbImage {
  static constexpr int64_t kChannels = 3;

  int64_t height = 0;
  int64_t width = 0;
  // [height, width, 3], row-major: red, green, blue, 0 to 255.
  std::vector<uint8_t> pixels = {};

  int64_t row_bytes() const { return width * kChannels; }
  uint8_t* row(int64_t y) {
    return pixels.data() + static_cast<size_t>(y * row_bytes());
  }
  const uint8_t* row(int64_t y) const {
    return pixels.data() + static_cast<size_t>(y * row_bytes());
  }

  friend bool operator==(const RgbImage&, const RgbImage&) = default;
};

// A black image.
inline RgbImage BlackImage(int64_t height, int64_t width) {
  const auto bytes = static_cast<size_t>(height * width * RgbImage::kChannels);
  return {
      .height = height, .width = width, .pixels = std::vector<uint8_t>(bytes)};
}

}  // namespace spillway

#endif  // SPILLWAY_TRAINING_DATA_RGB_IMAGE_H_
