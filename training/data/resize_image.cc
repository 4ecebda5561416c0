#include "training/data/resize_image.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "base/interval.h"

namespace spillway {
namespace {

constexpr int64_t kChannels = RgbImage::kChannels;

// The input pixels that make one output pixel, along one axis.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights = {};  // of first, first + 1, ...; their sum is 1
};

// One axis of a crop.
struct Axis {
  int64_t input = 0;   // pixels of the source
  int64_t output = 0;  // pixels of the resized source
};

Taps TapsOf(const Axis& axis, int64_t pixel) {
  if (pixel < 0 || pixel >= axis.output) return {};  // black
  const double scale =
      static_cast<double>(axis.input) / static_cast<double>(axis.output);
  const double reach = std::max(scale, 1.0);
  const double centre = (static_cast<double>(pixel) + 0.5) * scale;
  // The pixels whose centres are less than `reach` away.
  const auto begin = static_cast<int64_t>(std::floor(centre - reach + 0.5));
  const auto end = static_cast<int64_t>(std::ceil(centre + reach - 0.5));
  std::vector<double> weights;
  double sum = 0;
  const int64_t first = std::max<int64_t>(begin, 0);
  for (int64_t i = first; i < std::min(end, axis.input); ++i) {
    const double distance = std::abs(static_cast<double>(i) + 0.5 - centre);
    weights.push_back(std::max(0.0, 1 - distance / reach));
    sum += weights.back();
  }
  Taps taps = {.first = first};
  for (const double weight : weights) {
    taps.weights.push_back(static_cast<float>(weight / sum));
  }
  return taps;
}

std::vector<Taps> TapsOfAll(const Axis& axis, int64_t first, int64_t count) {
  std::vector<Taps> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(TapsOf(axis, first + i));
  return all;
}

// The half-open range of input pixels that any output pixel needs.
Interval NeededPixels(std::span<const Taps> all) {
  Interval needed;
  for (const Taps& taps : all) {
    if (taps.weights.empty()) continue;
    const int64_t end = taps.first + static_cast<int64_t>(taps.weights.size());
    if (needed.end == 0) needed.begin = taps.first;
    needed = {.begin = std::min(needed.begin, taps.first),
              .end = std::max(needed.end, end)};
  }
  return needed;
}

// The weighted mean of rows of the source, in its columns `columns`.
void MixRows(const RgbImage& image, const Rectangle& source, const Taps& taps,
             const Interval& columns, std::span<float> mixed) {
  std::ranges::fill(mixed, 0.0F);
  int64_t y = source.top + taps.first;
  for (const float weight : taps.weights) {
    const uint8_t* row =
        image.row(y++) + (source.left + columns.begin) * kChannels;
    for (size_t i = 0; i < mixed.size(); ++i) {
      mixed[i] += weight * static_cast<float>(row[i]);
    }
  }
}

uint8_t ToByte(float value) {
  return static_cast<uint8_t>(std::min(value + 0.5F, 255.0F));
}

// Mixes the pixels of a row, which begins with the source's column `begin`.
void MixColumns(std::span<const float> row, int64_t begin,
                std::span<const Taps> columns, uint8_t* to) {
  for (const Taps& taps : columns) {
    float red = 0;
    float green = 0;
    float blue = 0;
    const float* pixel = row.data();
    if (!taps.weights.empty()) pixel += (taps.first - begin) * kChannels;
    for (const float weight : taps.weights) {
      red += weight * pixel[0];
      green += weight * pixel[1];
      blue += weight * pixel[2];
      pixel += kChannels;
    }
    *to++ = ToByte(red);
    *to++ = ToByte(green);
    *to++ = ToByte(blue);
  }
}

}  // namespace

// Rows first: they lie in one piece in memory, and MixColumns, which is slower
// per value, runs once per row of the result.
RgbImage ResizeImage(const RgbImage& image, const Crop& crop) {
  const Rectangle& window = crop.window;
  const std::vector<Taps> rows =
      TapsOfAll({crop.source.height, crop.height}, window.top, window.height);
  std::vector<Taps> columns =
      TapsOfAll({crop.source.width, crop.width}, window.left, window.width);
  if (crop.flip) std::ranges::reverse(columns);

  const Interval needed = NeededPixels(columns);
  std::vector<float> mixed(static_cast<size_t>(needed.length() * kChannels));
  RgbImage result = BlackImage(window.height, window.width);
  for (int64_t y = 0; y < window.height; ++y) {
    MixRows(image, crop.source, rows[static_cast<size_t>(y)], needed, mixed);
    MixColumns(mixed, needed.begin, columns, result.row(y));
  }
  return result;
}

}  // namespace spillway
