// JPEG and PNG files for tests and benchmarks, made by the libraries' encoders.
#ifndef SPILLWAY_TESTS_SUPPORT_MAKE_IMAGE_H_
#define SPILLWAY_TESTS_SUPPORT_MAKE_IMAGE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "training/data/rgb_image.h"

namespace spillway::testing {

// Colours that change slowly: JPEG keeps them within a few grey levels.
RgbImage SmoothImage(int64_t height, int64_t width);

// Random colours, the same for the same arguments.
RgbImage NoisyImage(int64_t height, int64_t width, uint64_t seed);

struct JpegSpec {
  int64_t height = 0;
  int64_t width = 0;
  int channels = 3;                  // 1: grey, 3: RGB, 4: CMYK
  std::vector<uint8_t> pixels = {};  // [height, width, channels]
  int quality = 95;
  bool progressive = false;
  bool arithmetic = false;       // arithmetic coding instead of Huffman's
  bool separate_scans = false;   // one for each channel; not with progressive
  bool ycck = false;             // stores CMYK as YCCK
  bool has_adobe_marker = true;  // of CMYK and YCCK
};
std::string MakeJpeg(const JpegSpec& spec);
std::string MakeJpeg(const RgbImage& image);

// Values as in a PNG file.
enum class PngColours : uint8_t {
  kGrey = 0,
  kRgb = 2,
  kPalette = 3,
  kGreyAlpha = 4,
  kRgbAlpha = 6
};
struct PngSpec {
  int64_t height = 0;
  int64_t width = 0;
  PngColours colours = PngColours::kRgb;
  int bits = 8;
  std::string rows = {};  // `height` rows as PNG packs them, big-endian
  std::vector<std::array<uint8_t, 3>> palette = {};
  std::string palette_alpha = {};  // tRNS of a palette; empty: none
  bool interlaced = false;
};
std::string MakePng(const PngSpec& spec);
std::string MakePng(const RgbImage& image, bool interlaced = false);

// The file with another size in its header. JPEG: in its first frame header.
// PNG: with a correct checksum.
std::string ClaimJpegSize(std::string jpeg, uint16_t height, uint16_t width);
std::string ClaimPngSize(std::string png, uint32_t height, uint32_t width);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_SUPPORT_MAKE_IMAGE_H_
