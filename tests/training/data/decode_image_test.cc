#include "training/data/decode_image.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/make_image.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using testing::ClaimJpegSize;
using testing::ClaimPngSize;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::JpegSpec;
using testing::kInvalid;
using testing::MakeJpeg;
using testing::MakePng;
using testing::NoisyImage;
using testing::PngColours;
using testing::PngSpec;
using testing::SmoothImage;
using testing::StatusIs;

// The largest difference of two values; 256 for images of different sizes.
int LargestDifference(const RgbImage& a, const RgbImage& b) {
  if (a.height != b.height || a.width != b.width) return 256;
  int largest = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i) {
    largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
  }
  return largest;
}

// The red values of a decoded image, if all of its pixels are grey.
std::vector<uint8_t> GreyValues(const RgbImage& image) {
  std::vector<uint8_t> values;
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    EXPECT_EQ(image.pixels[i], image.pixels[i + 1]);
    EXPECT_EQ(image.pixels[i], image.pixels[i + 2]);
    values.push_back(image.pixels[i]);
  }
  return values;
}

TEST(DecodePngTest, ReturnsThePixelsBitForBit) {
  for (const auto& [height, width] :
       {std::pair{1, 1}, {1, 7}, {9, 1}, {17, 33}, {64, 64}}) {
    const RgbImage image = NoisyImage(height, width, 3);
    for (const bool interlaced : {false, true}) {
      ASSERT_OK_AND_ASSIGN(const RgbImage decoded,
                           DecodeImage(MakePng(image, interlaced), "a.png"));
      EXPECT_EQ(decoded, image) << height << " x " << width << interlaced;
    }
  }
}

TEST(DecodePngTest, GreyOfFewBitsFillsTheWholeRange) {
  // 2 bits: 0, 1, 2, 3 in one byte.
  ASSERT_OK_AND_ASSIGN(const RgbImage image,
                       DecodeImage(MakePng({.height = 1,
                                            .width = 4,
                                            .colours = PngColours::kGrey,
                                            .bits = 2,
                                            .rows = "\x1b"}),
                                   "a.png"));
  EXPECT_THAT(GreyValues(image), ElementsAre(0, 85, 170, 255));
}

TEST(DecodePngTest, SixteenBitsAreRoundedToEight) {
  std::string rows;
  std::vector<uint8_t> expected;
  for (int value = 0; value < 65536; value += 51) {
    rows += static_cast<char>(value >> 8);
    rows += static_cast<char>(value);
    expected.push_back(static_cast<uint8_t>((value * 255 + 32767) / 65535));
  }
  ASSERT_OK_AND_ASSIGN(
      const RgbImage image,
      DecodeImage(MakePng({.height = 1,
                           .width = static_cast<int64_t>(expected.size()),
                           .colours = PngColours::kGrey,
                           .bits = 16,
                           .rows = rows}),
                  "a.png"));
  EXPECT_EQ(GreyValues(image), expected);
}

TEST(DecodePngTest, PaletteBecomesColoursAndItsTransparencyIsDropped) {
  const PngSpec spec = {.height = 1,
                        .width = 3,
                        .colours = PngColours::kPalette,
                        .rows = std::string("\2\0\1", 3),
                        .palette = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}},
                        .palette_alpha = std::string("\0\x80", 2)};
  ASSERT_OK_AND_ASSIGN(const RgbImage image,
                       DecodeImage(MakePng(spec), "a.png"));
  EXPECT_THAT(image.pixels, ElementsAre(7, 8, 9, 1, 2, 3, 4, 5, 6));
}

TEST(DecodePngTest, AlphaIsDropped) {
  ASSERT_OK_AND_ASSIGN(
      const RgbImage colours,
      DecodeImage(MakePng({.height = 1,
                           .width = 2,
                           .colours = PngColours::kRgbAlpha,
                           .rows = std::string("\1\2\3\0\4\5\6\x7f", 8)}),
                  "a.png"));
  EXPECT_THAT(colours.pixels, ElementsAre(1, 2, 3, 4, 5, 6));
  ASSERT_OK_AND_ASSIGN(
      const RgbImage grey,
      DecodeImage(MakePng({.height = 1,
                           .width = 2,
                           .colours = PngColours::kGreyAlpha,
                           .rows = std::string("\x0a\0\x14\xff", 4)}),
                  "a.png"));
  EXPECT_THAT(GreyValues(grey), ElementsAre(10, 20));
}

TEST(DecodeJpegTest, ReturnsSmoothColoursWithinAFewLevels) {
  for (const auto& [progressive, arithmetic] :
       {std::pair{false, false}, {true, false}, {false, true}}) {
    for (const auto& [height, width] :
         {std::pair{16, 16}, {61, 83}, {200, 120}}) {
      const RgbImage image = SmoothImage(height, width);
      const std::string file = MakeJpeg({.height = height,
                                         .width = width,
                                         .pixels = image.pixels,
                                         .progressive = progressive,
                                         .arithmetic = arithmetic});
      ASSERT_OK_AND_ASSIGN(const RgbImage decoded, DecodeImage(file, "a.jpg"));
      EXPECT_LE(LargestDifference(decoded, image), 16)
          << height << " x " << width;
    }
  }
}

TEST(DecodeJpegTest, GreyBecomesThreeEqualChannels) {
  std::vector<uint8_t> pixels(64);
  for (size_t i = 0; i < 64; ++i) pixels[i] = static_cast<uint8_t>(4 * i);
  ASSERT_OK_AND_ASSIGN(const RgbImage image,
                       DecodeImage(MakeJpeg({.height = 8,
                                             .width = 8,
                                             .channels = 1,
                                             .pixels = pixels,
                                             .quality = 100}),
                                   "a.jpg"));
  const std::vector<uint8_t> values = GreyValues(image);
  ASSERT_EQ(values.size(), 64u);
  for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(values[i], pixels[i], 2);
}

// One colour in CMYK. Red is full magenta and yellow, without cyan and black.
JpegSpec OneCmykColour(std::vector<uint8_t> colour) {
  JpegSpec spec = {.height = 8, .width = 8, .channels = 4, .quality = 100};
  for (int i = 0; i < 64; ++i) {
    spec.pixels.insert(spec.pixels.end(), colour.begin(), colour.end());
  }
  return spec;
}

void ExpectColour(const RgbImage& image, const std::vector<int>& colour) {
  ASSERT_EQ(image.pixels.size(), 64u * 3);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    ASSERT_NEAR(image.pixels[i], colour[i % 3], 3) << i;
  }
}

TEST(DecodeJpegTest, InvertedCmykOfAdobeBecomesRgb) {
  // 0 is full ink.
  for (const bool ycck : {false, true}) {
    JpegSpec spec = OneCmykColour({255, 0, 0, 255});
    spec.ycck = ycck;
    ASSERT_OK_AND_ASSIGN(const RgbImage red,
                         DecodeImage(MakeJpeg(spec), "a.jpg"));
    ExpectColour(red, {255, 0, 0});
    spec = OneCmykColour({200, 100, 50, 128});
    spec.ycck = ycck;
    ASSERT_OK_AND_ASSIGN(const RgbImage dark,
                         DecodeImage(MakeJpeg(spec), "a.jpg"));
    ExpectColour(dark, {100, 50, 25});
  }
}

TEST(DecodeJpegTest, CmykWithoutAdobesMarkerIsInvertedFirst) {
  JpegSpec spec = OneCmykColour({0, 255, 255, 0});
  spec.has_adobe_marker = false;
  ASSERT_OK_AND_ASSIGN(const RgbImage red,
                       DecodeImage(MakeJpeg(spec), "a.jpg"));
  ExpectColour(red, {255, 0, 0});
}

TEST(DecodeImageTest, RefusesOtherContentsAndNamesTheFile) {
  EXPECT_THAT(DecodeImage("", "a/b.jpg"),
              StatusIs(kInvalid, "a/b.jpg: the file is empty"));
  for (const std::string bytes :
       {"GIF89a", "hello", "\xff\xd8", "\x89PNG\r\n", "BM", "RIFF"}) {
    EXPECT_THAT(DecodeImage(bytes, "a/b.jpg"),
                StatusIs(kInvalid, AllOf(HasSubstr("a/b.jpg: "),
                                         HasSubstr("neither a JPEG"))));
  }
}

TEST(DecodeImageTest, RecognisesTheFormatByTheContent) {
  const RgbImage image = NoisyImage(3, 4, 1);
  ASSERT_OK_AND_ASSIGN(const RgbImage decoded,
                       DecodeImage(MakePng(image), "photo.jpg"));
  EXPECT_EQ(decoded, image);
}

TEST(DecodeImageTest, TheLimitOfPixelsIsExact) {
  const RgbImage image = NoisyImage(10, 20, 1);
  for (const std::string& file : {MakePng(image), MakeJpeg(image)}) {
    EXPECT_THAT(DecodeImage(file, "a", 200), testing::IsOk());
    EXPECT_THAT(DecodeImage(file, "a", 199),
                StatusIs(kInvalid,
                         "a: the header claims 20 x 10 pixels; at most 199 "
                         "pixels are decoded (max_pixels)"));
  }
}

// Small files that claim to be huge.
std::vector<std::string> HugeClaims() {
  const RgbImage image = SmoothImage(8, 8);
  const std::string progressive = MakeJpeg(
      {.height = 8, .width = 8, .pixels = image.pixels, .progressive = true});
  return {ClaimJpegSize(MakeJpeg(image), 60'000, 60'000),
          ClaimJpegSize(progressive, 60'000, 60'000),
          ClaimPngSize(MakePng(image), 60'000, 60'000),
          ClaimPngSize(MakePng(image, /*interlaced=*/true), 60'000, 60'000)};
}

TEST(DecodeImageTest, RefusesASmallFileThatClaimsToBeHuge) {
  for (const std::string& file : HugeClaims()) {
    EXPECT_LT(file.size(), 1000u);
    EXPECT_THAT(DecodeImage(file, "bomb"),
                StatusIs(kInvalid, HasSubstr("bomb: the header claims 60000 x "
                                             "60000 pixels")));
  }
  EXPECT_THAT(DecodeImage(ClaimPngSize(MakePng(SmoothImage(8, 8)), 0x7fffffff,
                                       0x7fffffff),
                          "bomb"),
              StatusIs(kInvalid, HasSubstr("bomb: ")));
}

// Lets the process allocate 8 MiB more than it has.
void LimitMemory() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  const rlim_t limit = pages * 4096 + (rlim_t{8} << 20);
  const rlimit limits = {.rlim_cur = limit, .rlim_max = limit};
  if (setrlimit(RLIMIT_AS, &limits) != 0) std::exit(2);
}

void DecodeInLittleMemory() {
  const std::vector<std::string> files = HugeClaims();
  LimitMemory();
  for (const std::string& file : files) {
    const absl::Status status = DecodeImage(file, "bomb").status();
    if (status.code() != kInvalid) std::exit(1);
  }
  // The limit works: an image of 27 MB does not fit.
  try {
    static_cast<void>(BlackImage(3000, 3000));
  } catch (const std::bad_alloc&) {
    std::exit(0);
  }
  std::exit(3);
}

TEST(DecodeImageDeathTest, RefusesHugeClaimsWithoutAllocating) {
  if (testing::kHasSanitizer) GTEST_SKIP() << "sanitizers reserve memory";
  EXPECT_EXIT(DecodeInLittleMemory(), ::testing::ExitedWithCode(0), "");
}

TEST(DecodeImageTest, EveryTruncationIsAnError) {
  const RgbImage image = SmoothImage(12, 9);
  const std::string progressive = MakeJpeg(
      {.height = 12, .width = 9, .pixels = image.pixels, .progressive = true});
  for (const std::string& file : {MakeJpeg(image), progressive, MakePng(image),
                                  MakePng(image, /*interlaced=*/true)}) {
    for (size_t size = 0; size < file.size(); ++size) {
      EXPECT_THAT(DecodeImage(file.substr(0, size), "cut"),
                  StatusIs(kInvalid, HasSubstr("cut: ")))
          << size << " of " << file.size();
    }
  }
}

// Whether the file with one changed byte is an image, with all of its pixels;
// if not, the error must name the file.
bool DecodesWith(std::string file, size_t place, int change) {
  file[place] = static_cast<char>(file[place] ^ change);
  const auto decoded = DecodeImage(file, "changed", 100'000);
  if (!decoded.ok()) {
    EXPECT_THAT(decoded, StatusIs(kInvalid, HasSubstr("changed: ")));
    return false;
  }
  EXPECT_EQ(decoded->pixels.size(),
            static_cast<size_t>(3 * decoded->height * decoded->width));
  return true;
}

TEST(DecodeImageTest, AnyChangedByteGivesAnImageOrAnError) {
  const RgbImage image = SmoothImage(12, 9);
  int num_errors = 0;
  for (const std::string& file : {MakeJpeg(image), MakePng(image)}) {
    for (size_t place = 0; place < file.size(); ++place) {
      for (const int change : {0x01, 0x80, 0xff}) {
        if (!DecodesWith(file, place, change)) ++num_errors;
      }
    }
  }
  EXPECT_GT(num_errors, 100);
}

TEST(DecodeImageTest, BytesBetweenTheSegmentsOfAJpegAreNoDamage) {
  std::string file = MakeJpeg(SmoothImage(12, 9));
  ASSERT_OK_AND_ASSIGN(const RgbImage expected, DecodeImage(file, "a.jpg"));
  file.insert(file.find("\xff\xdb"), "superfluous");
  ASSERT_OK_AND_ASSIGN(const RgbImage image, DecodeImage(file, "a.jpg"));
  EXPECT_EQ(image, expected);
}

TEST(DecodeImageTest, PngChecksumsAreChecked) {
  std::string file = MakePng(NoisyImage(16, 16, 1));
  file[file.size() / 2] = static_cast<char>(file[file.size() / 2] ^ 1);
  EXPECT_THAT(DecodeImage(file, "a.png"),
              StatusIs(kInvalid, HasSubstr("a.png: damaged PNG image: ")));
}

// A file with 203 scans of a few bytes each: small, but slow to decode.
TEST(DecodeImageTest, RefusesManyScans) {
  const RgbImage image = SmoothImage(64, 64);
  const std::string file = MakeJpeg({.height = 64,
                                     .width = 64,
                                     .pixels = image.pixels,
                                     .separate_scans = true});
  EXPECT_THAT(DecodeImage(file, "few.jpg"), testing::IsOk());
  const size_t end = file.rfind("\xff\xd9");
  const size_t last_scan = file.rfind("\xff\xda");
  std::string many = file.substr(0, end);
  for (int i = 0; i < 200; ++i) {
    many += file.substr(last_scan, end - last_scan);
  }
  many += "\xff\xd9";
  EXPECT_THAT(DecodeImage(many, "many.jpg"),
              StatusIs(kInvalid,
                       "many.jpg: damaged JPEG image: more than 100 "
                       "scans"));
}

}  // namespace
}  // namespace spillway
