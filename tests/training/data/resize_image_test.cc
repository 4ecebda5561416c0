#include "training/data/resize_image.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/make_image.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using ::testing::ElementsAre;
using testing::NoisyImage;

// A crop that resizes the whole image.
Crop WholeImage(const RgbImage& image, int64_t height, int64_t width) {
  return {.source = {.height = image.height, .width = image.width},
          .height = height,
          .width = width,
          .window = {.height = height, .width = width}};
}

// A row of grey pixels.
RgbImage GreyRow(const std::vector<uint8_t>& values) {
  RgbImage image = {.height = 1, .width = static_cast<int64_t>(values.size())};
  for (const uint8_t value : values) {
    for (int c = 0; c < 3; ++c) image.pixels.push_back(value);
  }
  return image;
}

std::vector<int> RedValues(const RgbImage& image) {
  std::vector<int> values;
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    values.push_back(image.pixels[i]);
  }
  return values;
}

TEST(ResizeImageTest, TheSameSizeCopiesThePixels) {
  for (const auto& [height, width] : {std::pair{1, 1}, {5, 7}, {32, 32}}) {
    const RgbImage image = NoisyImage(height, width, 1);
    EXPECT_EQ(ResizeImage(image, WholeImage(image, height, width)), image);
  }
}

TEST(ResizeImageTest, EnlargingInterpolatesBetweenPixelCentres) {
  const RgbImage image = GreyRow({0, 100});
  // Centres at -0.25, 0.25, 0.75 and 1.25, counted from the first pixel's.
  EXPECT_THAT(RedValues(ResizeImage(image, WholeImage(image, 1, 4))),
              ElementsAre(0, 25, 75, 100));
}

TEST(ResizeImageTest, ShrinkingUsesEveryPixel) {
  // Centre 1 of 4 pixels, triangle of reach 2: weights 1/8, 3/8, 3/8, 1/8 of
  // pixels -1 to 2 for the left half, of which pixel -1 is missing.
  const RgbImage image = GreyRow({70, 14, 140, 210});
  const int left = (3 * 70 + 3 * 14 + 140 + 3) / 7;
  const int right = (14 + 3 * 140 + 3 * 210 + 3) / 7;
  EXPECT_THAT(RedValues(ResizeImage(image, WholeImage(image, 1, 2))),
              ElementsAre(left, right));
}

TEST(ResizeImageTest, AnEvenColourStaysTheSame) {
  RgbImage image = BlackImage(37, 53);
  std::ranges::fill(image.pixels, uint8_t{201});
  for (const auto& [height, width] :
       {std::pair{1, 1}, {8, 100}, {36, 54}, {90, 11}}) {
    const RgbImage resized =
        ResizeImage(image, WholeImage(image, height, width));
    EXPECT_THAT(resized.pixels, ::testing::Each(201));
  }
}

TEST(ResizeImageTest, AWindowIsThatPartOfTheResizedImage) {
  const RgbImage image = NoisyImage(20, 30, 2);
  Crop crop = WholeImage(image, 13, 41);
  const RgbImage all = ResizeImage(image, crop);
  crop.window = {.top = 4, .left = 9, .height = 6, .width = 5};
  const RgbImage part = ResizeImage(image, crop);
  ASSERT_EQ(part.height, 6);
  ASSERT_EQ(part.width, 5);
  for (int64_t y = 0; y < 6; ++y) {
    const uint8_t* expected = all.row(y + 4) + int64_t{9} * 3;
    EXPECT_TRUE(std::equal(expected, expected + 15, part.row(y))) << y;
  }
}

TEST(ResizeImageTest, OutsideOfTheResizedImageIsBlack) {
  const RgbImage image = GreyRow({10, 20, 30});
  Crop crop = WholeImage(image, 1, 3);
  crop.window = {.top = -1, .left = -2, .height = 3, .width = 4};
  EXPECT_THAT(RedValues(ResizeImage(image, crop)),
              ElementsAre(0, 0, 0, 0, 0, 0, 10, 20, 0, 0, 0, 0));
  crop.window = {.top = 0, .left = 2, .height = 1, .width = 3};
  EXPECT_THAT(RedValues(ResizeImage(image, crop)), ElementsAre(30, 0, 0));
  crop.window = {.top = 5, .left = 9, .height = 1, .width = 2};
  EXPECT_THAT(RedValues(ResizeImage(image, crop)), ElementsAre(0, 0));
}

TEST(ResizeImageTest, FlippingMirrorsTheResult) {
  const RgbImage image = GreyRow({10, 20, 30});
  Crop crop = WholeImage(image, 1, 3);
  crop.flip = true;
  EXPECT_THAT(RedValues(ResizeImage(image, crop)), ElementsAre(30, 20, 10));
  crop.window.left = 1;
  EXPECT_THAT(RedValues(ResizeImage(image, crop)), ElementsAre(0, 30, 20));
}

TEST(ResizeImageTest, PixelsOutsideOfTheSourceDoNotMatter) {
  const RgbImage image = NoisyImage(12, 17, 3);
  const Rectangle source = {.top = 3, .left = 5, .height = 6, .width = 8};
  RgbImage cut = BlackImage(source.height, source.width);
  for (int64_t y = 0; y < source.height; ++y) {
    std::copy_n(image.row(source.top + y) + source.left * 3, source.width * 3,
                cut.row(y));
  }
  Crop crop = WholeImage(cut, 9, 4);
  const RgbImage expected = ResizeImage(cut, crop);
  crop.source = source;
  EXPECT_EQ(ResizeImage(image, crop), expected);
}

// The value of one output pixel, straight from the definition, in double.
double NaiveValue(const RgbImage& image, const Crop& crop, int64_t y, int64_t x,
                  int64_t channel) {
  if (y < 0 || y >= crop.height || x < 0 || x >= crop.width) return 0;
  const auto weight = [](int64_t input, int64_t output, int64_t to,
                         int64_t from) {
    const double scale =
        static_cast<double>(input) / static_cast<double>(output);
    const double distance = std::abs((static_cast<double>(to) + 0.5) * scale -
                                     (static_cast<double>(from) + 0.5));
    return std::max(0.0, 1 - distance / std::max(scale, 1.0));
  };
  double sum = 0;
  double weights = 0;
  for (int64_t sy = 0; sy < crop.source.height; ++sy) {
    for (int64_t sx = 0; sx < crop.source.width; ++sx) {
      const double w = weight(crop.source.height, crop.height, y, sy) *
                       weight(crop.source.width, crop.width, x, sx);
      sum += w * image.row(crop.source.top +
                           sy)[3 * (crop.source.left + sx) + channel];
      weights += w;
    }
  }
  return sum / weights;
}

// Random numbers in [least, most].
class RandomSizes {
 public:
  explicit RandomSizes(uint64_t seed) : seed_(seed) {}
  int64_t operator()(int64_t least, int64_t most) {
    const uint32_t bits = Philox4x32(seed_, counter_++)[0];
    return least + static_cast<int64_t>(bits) % (most - least + 1);
  }

 private:
  uint64_t seed_;
  uint64_t counter_ = 0;
};

Crop RandomCropOf(const RgbImage& image, RandomSizes& random) {
  Rectangle source = {.height = random(1, image.height),
                      .width = random(1, image.width)};
  source.top = random(0, image.height - source.height);
  source.left = random(0, image.width - source.width);
  return {.source = source,
          .height = random(1, 30),
          .width = random(1, 30),
          .window = {.top = random(-3, 10),
                     .left = random(-3, 10),
                     .height = random(1, 12),
                     .width = random(1, 12)},
          .flip = random(0, 1) == 1};
}

// The largest difference from the naive twin, in grey levels.
double LargestError(const RgbImage& image, const Crop& crop) {
  const RgbImage resized = ResizeImage(image, crop);
  const Rectangle& window = crop.window;
  if (resized.height != window.height || resized.width != window.width) {
    return 256;
  }
  double largest = 0;
  for (int64_t i = 0; i < window.height * window.width * 3; ++i) {
    const int64_t y = i / (3 * window.width);
    const int64_t x = i / 3 % window.width;
    const int64_t column = crop.flip ? window.width - 1 - x : x;
    const double expected =
        NaiveValue(image, crop, window.top + y, window.left + column, i % 3);
    largest = std::max(
        largest, std::abs(resized.pixels[static_cast<size_t>(i)] - expected));
  }
  return largest;
}

TEST(ResizeImageTest, EqualsTheNaiveTwin) {
  for (int seed = 0; seed < testing::NumCases(200); ++seed) {
    RandomSizes random(static_cast<uint64_t>(seed));
    const RgbImage image = NoisyImage(random(1, 24), random(1, 24), 5);
    const Crop crop = RandomCropOf(image, random);
    ASSERT_LE(LargestError(image, crop), 0.501) << "seed " << seed;
  }
}

}  // namespace
}  // namespace spillway
