#include "training/data/choose_crop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::StatusIs;

void ExpectInside(const Crop& crop, const CropSizes& sizes) {
  const Rectangle& source = crop.source;
  EXPECT_GE(source.top, 0);
  EXPECT_GE(source.left, 0);
  EXPECT_GE(source.height, 1);
  EXPECT_GE(source.width, 1);
  EXPECT_LE(source.top + source.height, sizes.height);
  EXPECT_LE(source.left + source.width, sizes.width);
  EXPECT_GE(crop.height, 1);
  EXPECT_GE(crop.width, 1);
  EXPECT_EQ(crop.window.height, sizes.sample);
  EXPECT_EQ(crop.window.width, sizes.sample);
}

// Whether the window is in the resized image, or at most `padding` outside.
void ExpectWindow(const Crop& crop, int64_t padding) {
  const Rectangle& window = crop.window;
  EXPECT_GE(window.top, -padding);
  EXPECT_GE(window.left, -padding);
  EXPECT_LE(window.top + window.height, crop.height + padding);
  EXPECT_LE(window.left + window.width, crop.width + padding);
}

// Sizes of which some are extreme.
CropSizes RandomSizesOf(uint64_t seed) {
  const auto bits = Philox4x32(seed, 1000);
  const auto side = [](uint32_t random, int64_t most) {
    return 1 + static_cast<int64_t>(random) % most;
  };
  const int64_t most = seed % 3 == 0 ? 8 : seed % 3 == 1 ? 700 : 5'000'000;
  return {.height = side(bits[0], most),
          .width = side(bits[1], seed % 2 == 0 ? most : 500),
          .sample = side(bits[2], 300)};
}

TEST(RandomCropTest, IsAlwaysInsideTheImage) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    const CropSizes sizes = RandomSizesOf(seed);
    const Crop area = RandomCrop(sizes, {.kind = CropKind::kArea}, seed);
    ExpectInside(area, sizes);
    ExpectWindow(area, 0);
    const Crop padded =
        RandomCrop(sizes, {.kind = CropKind::kPadded, .padding = 4}, seed);
    ExpectInside(padded, sizes);
    ExpectWindow(padded, 4);
    EXPECT_EQ(std::min(padded.height, padded.width), sizes.sample);
    const Crop centre = RandomCrop(sizes, {.kind = CropKind::kCentre}, seed);
    ExpectInside(centre, sizes);
    ExpectWindow(centre, 0);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(RandomCropTest, AreaAndAspectAreInTheirRanges) {
  const CropSizes sizes = {.height = 1000, .width = 1000, .sample = 224};
  double least_area = 1;
  double most_area = 0;
  double sum_of_areas = 0;
  double least_aspect = 10;
  double most_aspect = 0;
  constexpr int kCrops = 4000;
  for (uint64_t key = 0; key < kCrops; ++key) {
    const Rectangle source = RandomCrop(sizes, {}, key).source;
    const auto height = static_cast<double>(source.height);
    const auto width = static_cast<double>(source.width);
    const double area = height * width / 1e6;
    least_area = std::min(least_area, area);
    most_area = std::max(most_area, area);
    sum_of_areas += area;
    least_aspect = std::min(least_aspect, width / height);
    most_aspect = std::max(most_aspect, width / height);
  }
  EXPECT_NEAR(least_area, 0.08, 0.005);
  EXPECT_LE(most_area, 1.0);
  EXPECT_GT(most_area, 0.9);
  // Large areas fit less often than small ones: below the 0.54 of all areas.
  EXPECT_NEAR(sum_of_areas / kCrops, 0.48, 0.05);
  EXPECT_NEAR(least_aspect, 0.75, 0.01);
  EXPECT_NEAR(most_aspect, 1.333, 0.01);
}

TEST(RandomCropTest, WhatNeverFitsBecomesTheLargestInTheCentre) {
  const CropOptions options = {.flip = false};
  const Crop wide =
      RandomCrop({.height = 1, .width = 1000, .sample = 8}, options, 3);
  EXPECT_EQ(wide.source, (Rectangle{.left = 499, .height = 1, .width = 1}));
  const Crop tall = RandomCrop({.height = 300, .width = 30, .sample = 8},
                               {.min_area = 1, .flip = false}, 3);
  EXPECT_EQ(tall.source, (Rectangle{.top = 130, .height = 40, .width = 30}));
}

TEST(RandomCropTest, IsDecidedByTheKey) {
  const CropSizes sizes = {.height = 500, .width = 375, .sample = 224};
  for (const CropKind kind : {CropKind::kArea, CropKind::kPadded}) {
    const CropOptions options = {.kind = kind};
    EXPECT_EQ(RandomCrop(sizes, options, 1), RandomCrop(sizes, options, 1));
    EXPECT_NE(RandomCrop(sizes, options, 1), RandomCrop(sizes, options, 2));
  }
}

TEST(RandomCropTest, FlipsEverySecondImage) {
  const CropSizes sizes = {.height = 40, .width = 40, .sample = 32};
  int flipped = 0;
  for (uint64_t key = 0; key < 2000; ++key) {
    if (RandomCrop(sizes, {}, key).flip) ++flipped;
    EXPECT_FALSE(RandomCrop(sizes, {.flip = false}, key).flip);
  }
  // Binomial, standard deviation 22; the tolerance is five of them.
  EXPECT_NEAR(flipped, 1000, 112);
}

TEST(RandomCropTest, PaddedCropsReachEveryPlace) {
  const CropSizes sizes = {.height = 32, .width = 32, .sample = 32};
  std::set<int64_t> tops;
  std::set<int64_t> lefts;
  for (uint64_t key = 0; key < 500; ++key) {
    const Crop crop =
        RandomCrop(sizes, {.kind = CropKind::kPadded, .padding = 4}, key);
    EXPECT_EQ(crop.height, 32);
    tops.insert(crop.window.top);
    lefts.insert(crop.window.left);
  }
  EXPECT_EQ(tops, (std::set<int64_t>{-4, -3, -2, -1, 0, 1, 2, 3, 4}));
  EXPECT_EQ(lefts, tops);
}

TEST(CentreCropTest, ResizesTheShorterSideAndTakesTheCentre) {
  EXPECT_EQ(
      CentreCrop({.height = 375, .width = 500, .sample = 224}, {}),
      (Crop{.source = {.height = 375, .width = 500},
            .height = 256,
            .width = 341,
            .window = {.top = 16, .left = 58, .height = 224, .width = 224}}));
  EXPECT_EQ(CentreCrop({.height = 64, .width = 32, .sample = 16},
                       {.centre_ratio = 1}),
            (Crop{.source = {.height = 64, .width = 32},
                  .height = 32,
                  .width = 16,
                  .window = {.top = 8, .height = 16, .width = 16}}));
}

TEST(CropOptionsTest, RefusesNumbersOutOfRange) {
  EXPECT_THAT(CheckCropOptions({}), IsOk());
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    CropOptions options;
    const char* named;
  } cases[] = {{{.min_area = 0}, "min_area 0"},
               {{.min_area = 0.5, .max_area = 0.4}, "max_area 0.4"},
               {{.max_area = 1.5}, "max_area 1.5"},
               {{.min_area = kNan}, "min_area nan"},
               {{.min_aspect = 0}, "min_aspect 0"},
               {{.min_aspect = 2, .max_aspect = 1}, "max_aspect 1"},
               {{.max_aspect = 1000}, "max_aspect 1000"},
               {{.padding = -1}, "padding -1"},
               {{.padding = 1 << 20}, "padding 1048576"},
               {{.centre_ratio = 0.9}, "centre_ratio 0.9"},
               {{.centre_ratio = kNan}, "centre_ratio nan"},
               {{.centre_ratio = 17}, "centre_ratio 17"}};
  for (const auto& [options, named] : cases) {
    EXPECT_THAT(CheckCropOptions(options),
                StatusIs(kInvalid, HasSubstr(named)));
  }
}

}  // namespace
}  // namespace spillway
