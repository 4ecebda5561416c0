// The passes of Winograd's algorithm over tensors: each transforms a filter, or
// the tiles of a block, on several threads. F is a WinogradScheme, T the
// storage type of activations.
#ifndef SPILLWAY_OPS_CPU_CONV_WINOGRAD_PASSES_H_
#define SPILLWAY_OPS_CPU_CONV_WINOGRAD_PASSES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/bfloat16.h"
#include "ops/common/storage.h"
#include "ops/cpu/conv/winograd_plan.h"
#include "ops/cpu/conv/winograd_transform.h"

namespace spillway {

// The algorithm of `Line` in one direction, or in both.
template <typename Line_, int kDimensions_>
struct WinogradScheme {
  using Line = Line_;
  static constexpr int kDimensions = kDimensions_;
  // Pixels of a tile of y, points of a transformed tile, elements of a window.
  static constexpr size_t kPixels = WinogradPower(Line::kTile, kDimensions);
  static constexpr size_t kPoints = WinogradPower(Line::kPoints, kDimensions);
  static constexpr size_t kTaps = WinogradPower(Line::kTaps, kDimensions);
};

// The pixels of `map` from this one on: kCount of them, kSide in each
// direction.
template <size_t kCount, int kSide, typename Pointer, typename T>
std::array<Pointer, kCount> PixelsFrom(const WinogradTiles& tiles,
                                       const PixelMap<T>& map,
                                       const TileBegin& begin) {
  const int64_t across = tiles.width > 1 ? kSide : 1;
  std::array<Pointer, kCount> pixels = {};
  for (size_t i = 0; i < kCount; ++i) {
    const auto k = static_cast<int64_t>(i);
    pixels[i] =
        map.at(begin.image, begin.row + k / across, begin.column + k % across);
  }
  return pixels;
}

// Matrices, one for each of kCount points, of `rows` rows of channels.
template <size_t kCount, typename T>
struct WinogradPoints {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t channels = 0;

  std::array<T*, kCount> at(int64_t row) const {
    std::array<T*, kCount> points = {};
    for (size_t i = 0; i < kCount; ++i) {
      points[i] = data + (static_cast<int64_t>(i) * rows + row) * channels;
    }
    return points;
  }
};

// The elements of filter `o`, [window, in_channels], in order or turned by 180
// degrees.
template <size_t kTaps, typename T>
std::array<T*, kTaps> TapsOf(T* filter, int64_t o, int64_t in_channels,
                             bool is_turned) {
  std::array<T*, kTaps> taps = {};
  for (size_t i = 0; i < kTaps; ++i) {
    const size_t tap = is_turned ? kTaps - 1 - i : i;
    taps[i] =
        filter + (o * static_cast<int64_t>(kTaps) + static_cast<int64_t>(tap)) *
                     in_channels;
  }
  return taps;
}

// As everywhere, activations of bfloat16 meet filters that are rounded to it.
template <typename T, typename Filter>
using RoundedFilter =
    std::conditional_t<std::is_same_v<T, BFloat16>, BFloat16, Filter>;

// Points [out_channels, in_channels].
template <typename F, typename T, typename Filter>
void TransformFilter(const WinogradPlan& conv, const Filter* filter,
                     bool is_turned, float* to) {
  const WinogradPoints<F::kPoints, float> points = {to, conv.out_channels,
                                                    conv.in_channels};
  ForEachOnThreads(conv.threads(), conv.out_channels, [&](int64_t o) {
    TransformChannels<typename F::Line::Filter, F::kDimensions, Filter, float,
                      RoundedFilter<T, Filter>>(
        TapsOf<F::kTaps>(filter, o, conv.in_channels, is_turned), points.at(o),
        conv.in_channels);
  });
}

// A square of kSide x kSide channels of a filter, or less at its edges, which
// stays in the first cache.
struct ChannelSquare {
  static constexpr int64_t kSide = 16;

  int64_t in = 0;  // the first channels
  int64_t out = 0;
  int64_t height = 0;  // channels that there are: of the input
  int64_t width = 0;   // of the output
};

// Copies its elements from the stored filter to [kTaps, height, kSide].
template <int64_t kTaps, typename Filter>
void TransposeTaps(const WinogradPlan& conv, const ChannelSquare& square,
                   const Filter* filter, float* to) {
  constexpr int64_t kSide = ChannelSquare::kSide;
  for (int64_t k = 0; k < square.width; ++k) {
    for (int64_t tap = 0; tap < kTaps; ++tap) {
      const Filter* from = filter +
                           ((square.out + k) * kTaps + tap) * conv.in_channels +
                           square.in;
      float* place = to + tap * square.height * kSide + k;
      for (int64_t c = 0; c < square.height; ++c) {
        place[c * kSide] = Load(from[c]);
      }
    }
  }
}

// Points [in_channels, out_channels].
template <typename F, typename T, typename Filter>
void TransformTransposedSquare(const WinogradPlan& conv,
                               const ChannelSquare& square,
                               const Filter* filter, float* to) {
  constexpr int64_t kSide = ChannelSquare::kSide;
  const WinogradPoints<F::kPoints, float> points = {to, conv.in_channels,
                                                    conv.out_channels};
  float taps[F::kTaps * kSide * kSide];
  TransposeTaps<F::kTaps>(conv, square, filter, taps);
  for (int64_t row = 0; row < square.height; ++row) {
    auto places = points.at(square.in + row);
    for (float*& place : places) place += square.out;
    std::array<const float*, F::kTaps> from = {};
    for (size_t tap = 0; tap < from.size(); ++tap) {
      from[tap] =
          taps + (static_cast<int64_t>(tap) * square.height + row) * kSide;
    }
    TransformChannels<typename F::Line::Filter, F::kDimensions, float, float,
                      RoundedFilter<T, float>>(from, places, square.width);
  }
}

template <typename F, typename T, typename Filter>
void TransformTransposedFilter(const WinogradPlan& conv, const Filter* filter,
                               float* to) {
  constexpr int64_t kSide = ChannelSquare::kSide;
  const int64_t columns = (conv.out_channels + kSide - 1) / kSide;
  ForEachOnThreads(conv.threads(), columns, [&](int64_t column) {
    const int64_t out = column * kSide;
    for (int64_t in = 0; in < conv.in_channels; in += kSide) {
      TransformTransposedSquare<F, T>(
          conv,
          {.in = in,
           .out = out,
           .height = std::min(kSide, conv.in_channels - in),
           .width = std::min(kSide, conv.out_channels - out)},
          filter, to);
    }
  });
}

template <typename F, typename T>
void TransformInput(const WinogradPlan& conv, const TileBlock& block,
                    const PixelMap<const T>& x, float* to) {
  const WinogradPoints<F::kPoints, float> points = {to, conv.block_tiles,
                                                    x.channels};
  const WinogradTiles& tiles = conv.tiles;
  ForEachOnThreads(conv.team_threads, block.count, [&](int64_t i) {
    TileBegin begin = BeginOf(tiles, block.first + i);
    begin.row -= tiles.rows.pad_before;
    begin.column -= tiles.columns.pad_before;
    TransformChannels<typename F::Line::Input, F::kDimensions, T, float>(
        PixelsFrom<F::kPoints, F::Line::kPoints, const T*>(tiles, x, begin),
        points.at(i), x.channels);
  });
}

template <typename F, typename T>
void TransformOutputGradient(const WinogradPlan& conv, const TileBlock& block,
                             const PixelMap<const T>& dy, float* to) {
  const WinogradPoints<F::kPoints, float> points = {to, conv.block_tiles,
                                                    dy.channels};
  ForEachOnThreads(conv.team_threads, block.count, [&](int64_t i) {
    TransformChannels<typename F::Line::OutputGradient, F::kDimensions, T,
                      float>(
        PixelsFrom<F::kPixels, F::Line::kTile, const T*>(
            conv.tiles, dy, BeginOf(conv.tiles, block.first + i)),
        points.at(i), dy.channels);
  });
}

template <typename F, typename T>
void TransformOutput(const WinogradPlan& conv, const TileBlock& block,
                     const float* from, const PixelMap<T>& y) {
  const WinogradPoints<F::kPoints, const float> points = {
      from, conv.block_tiles, y.channels};
  ForEachOnThreads(conv.team_threads, block.count, [&](int64_t i) {
    TransformChannels<typename F::Line::Output, F::kDimensions, float, T>(
        points.at(i),
        PixelsFrom<F::kPixels, F::Line::kTile, T*>(
            conv.tiles, y, BeginOf(conv.tiles, block.first + i)),
        y.channels);
  });
}

template <typename F, typename T>
void TransformFilterGradient(const WinogradPlan& conv, const float* from,
                             T* dfilter) {
  const WinogradPoints<F::kPoints, const float> points = {
      from, conv.out_channels, conv.in_channels};
  ForEachOnThreads(conv.threads(), conv.out_channels, [&](int64_t o) {
    TransformChannels<typename F::Line::FilterGradient, F::kDimensions, float,
                      T>(
        points.at(o),
        TapsOf<F::kTaps>(dfilter, o, conv.in_channels, /*is_turned=*/false),
        conv.in_channels);
  });
}

// Zeros in all rows of a block of points that it does not fill.
template <typename F>
void PadBlock(const WinogradPlan& conv, const TileBlock& block,
              int64_t channels, float* to) {
  const WinogradPoints<F::kPoints, float> points = {to, conv.block_tiles,
                                                    channels};
  const int64_t floats = (conv.block_tiles - block.count) * channels;
  if (floats == 0) return;
  for (float* end : points.at(block.count)) std::fill_n(end, floats, 0.0F);
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_CONV_WINOGRAD_PASSES_H_
