#include "training/data/choose_crop.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/random.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

constexpr uint64_t kAreaAttempts = 10;

// Counters of the random numbers of one crop: the attempts of kArea have 0 to
// kAreaAttempts - 1.
constexpr uint64_t kPlaceCounter = kAreaAttempts;
constexpr uint64_t kFlipCounter = kAreaAttempts + 1;

constexpr int64_t kMaxPadding = 1 << 14;
constexpr double kMaxCentreRatio = 16;

// Random bits reduced to [0, bound). The bias is below bound / 2^(number of
// bits).
int64_t IndexBelow(int64_t bound, uint64_t bits) {
  return static_cast<int64_t>(bits % static_cast<uint64_t>(bound));
}

int64_t Round(double value) { return std::llround(value); }

// `image` with its shorter side resized to `shorter`; the window is still
// empty.
Crop ResizeShorterSide(const CropSizes& sizes, int64_t shorter) {
  const int64_t least = std::min(sizes.height, sizes.width);
  const auto resized = [&](int64_t side) {
    return (2 * side * shorter + least) / (2 * least);  // rounded
  };
  return {.source = {.height = sizes.height, .width = sizes.width},
          .height = resized(sizes.height),
          .width = resized(sizes.width)};
}

Crop ResizeRectangle(const Rectangle& source, int64_t sample) {
  return {.source = source,
          .height = sample,
          .width = sample,
          .window = {.height = sample, .width = sample}};
}

// The largest rectangle in the centre with an allowed aspect ratio.
Rectangle LargestInCentre(const CropSizes& sizes, const CropOptions& options) {
  const auto height = static_cast<double>(sizes.height);
  const auto width = static_cast<double>(sizes.width);
  Rectangle largest = {.height = std::clamp<int64_t>(
                           Round(width / options.min_aspect), 1, sizes.height),
                       .width = std::clamp<int64_t>(
                           Round(height * options.max_aspect), 1, sizes.width)};
  largest.top = (sizes.height - largest.height) / 2;
  largest.left = (sizes.width - largest.width) / 2;
  return largest;
}

Rectangle RandomArea(const CropSizes& sizes, const CropOptions& options,
                     uint64_t key) {
  const double all =
      static_cast<double>(sizes.height) * static_cast<double>(sizes.width);
  const double least = std::log(options.min_aspect);
  const double most = std::log(options.max_aspect);
  for (uint64_t attempt = 0; attempt < kAreaAttempts; ++attempt) {
    const std::array<uint32_t, 4> bits = Philox4x32(key, attempt);
    const double area =
        all * (options.min_area +
               (options.max_area - options.min_area) * UniformFloat(bits[0]));
    const double aspect =
        std::exp(least + (most - least) * UniformFloat(bits[1]));
    const int64_t height = Round(std::sqrt(area / aspect));
    const int64_t width = Round(std::sqrt(area * aspect));
    if (height < 1 || height > sizes.height) continue;
    if (width < 1 || width > sizes.width) continue;
    return {.top = IndexBelow(sizes.height - height + 1, bits[2]),
            .left = IndexBelow(sizes.width - width + 1, bits[3]),
            .height = height,
            .width = width};
  }
  return LargestInCentre(sizes, options);
}

Crop PaddedCrop(const CropSizes& sizes, int64_t padding, uint64_t key) {
  Crop crop = ResizeShorterSide(sizes, sizes.sample);
  const std::array<uint32_t, 4> bits = Philox4x32(key, kPlaceCounter);
  const auto place = [&](int64_t resized, uint32_t high, uint32_t low) {
    const int64_t places = resized - sizes.sample + 2 * padding + 1;
    return IndexBelow(places, (uint64_t{high} << 32) | low) - padding;
  };
  crop.window = {.top = place(crop.height, bits[0], bits[1]),
                 .left = place(crop.width, bits[2], bits[3]),
                 .height = sizes.sample,
                 .width = sizes.sample};
  return crop;
}

absl::Status RefuseOption(std::string_view problem) {
  return InvalidArgument(fmt::format("crop: {}", problem));
}

}  // namespace

absl::Status CheckCropOptions(const CropOptions& options) {
  // Written so that a NaN fails.
  if (!(options.min_area > 0 && options.min_area <= options.max_area &&
        options.max_area <= 1)) {
    return RefuseOption(fmt::format(
        "min_area {} and max_area {} must be in order, above 0 and at most 1",
        options.min_area, options.max_area));
  }
  if (!(options.min_aspect >= 0.01 &&
        options.min_aspect <= options.max_aspect &&
        options.max_aspect <= 100)) {
    return RefuseOption(
        fmt::format("min_aspect {} and max_aspect {} must be in order, and "
                    "from 0.01 to 100",
                    options.min_aspect, options.max_aspect));
  }
  if (options.padding < 0 || options.padding > kMaxPadding) {
    return RefuseOption(fmt::format("padding {} must be from 0 to {}",
                                    options.padding, kMaxPadding));
  }
  if (!(options.centre_ratio >= 1 && options.centre_ratio <= kMaxCentreRatio)) {
    return RefuseOption(fmt::format("centre_ratio {} must be from 1 to {}",
                                    options.centre_ratio, kMaxCentreRatio));
  }
  return absl::OkStatus();
}

Crop RandomCrop(const CropSizes& sizes, const CropOptions& options,
                uint64_t key) {
  Crop crop;
  switch (options.kind) {
    case CropKind::kArea:
      crop = ResizeRectangle(RandomArea(sizes, options, key), sizes.sample);
      break;
    case CropKind::kPadded:
      crop = PaddedCrop(sizes, options.padding, key);
      break;
    case CropKind::kCentre:
      crop = CentreCrop(sizes, options);
      break;
  }
  crop.flip = options.flip && (Philox4x32(key, kFlipCounter)[0] >> 31) != 0;
  return crop;
}

Crop CentreCrop(const CropSizes& sizes, const CropOptions& options) {
  const int64_t shorter =
      Round(static_cast<double>(sizes.sample) * options.centre_ratio);
  Crop crop = ResizeShorterSide(sizes, shorter);
  crop.window = {.top = (crop.height - sizes.sample) / 2,
                 .left = (crop.width - sizes.sample) / 2,
                 .height = sizes.sample,
                 .width = sizes.sample};
  return crop;
}

}  // namespace spillway
