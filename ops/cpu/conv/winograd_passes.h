// The passes of Winograd's algorithm over tensors: each transforms a filter, or
// the tiles of a block, on several threads. F is Winograd2x2 or Winograd4x4, T
// the storage type of activations.
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

inline constexpr int64_t kWinogradTaps = 9;  // of a window

// The kSize x kSize pixels of `map` from this one on.
template <int kSize, typename Pointer, typename T>
std::array<Pointer, size_t{kSize} * kSize> PixelsFrom(const PixelMap<T>& map,
                                                      int64_t image,
                                                      int64_t row,
                                                      int64_t column) {
  std::array<Pointer, size_t{kSize}* kSize> pixels = {};
  for (int i = 0; i < kSize * kSize; ++i) {
    pixels[static_cast<size_t>(i)] =
        map.at(image, row + i / kSize, column + i % kSize);
  }
  return pixels;
}

// Matrices, one for each of kPoints x kPoints points, of `rows` rows of
// channels.
template <int kPoints, typename T>
struct WinogradPoints {
  static constexpr size_t kCount = size_t{kPoints} * kPoints;

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
template <typename T>
std::array<T*, kWinogradTaps> TapsOf(T* filter, int64_t o, int64_t in_channels,
                                     bool is_turned) {
  std::array<T*, kWinogradTaps> taps = {};
  for (int64_t i = 0; i < kWinogradTaps; ++i) {
    const int64_t tap = is_turned ? kWinogradTaps - 1 - i : i;
    taps[static_cast<size_t>(i)] =
        filter + (o * kWinogradTaps + tap) * in_channels;
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
    TransformSquare<typename F::Filter, Filter, float,
                    RoundedFilter<T, Filter>>(
        TapsOf(filter, o, conv.in_channels, is_turned), points.at(o),
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

// Copies its elements from the stored filter to [taps, height, kSide].
template <typename Filter>
void TransposeTaps(const WinogradPlan& conv, const ChannelSquare& square,
                   const Filter* filter, float* to) {
  constexpr int64_t kSide = ChannelSquare::kSide;
  for (int64_t k = 0; k < square.width; ++k) {
    for (int64_t tap = 0; tap < kWinogradTaps; ++tap) {
      const Filter* from =
          filter + ((square.out + k) * kWinogradTaps + tap) * conv.in_channels +
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
  float taps[kWinogradTaps * kSide * kSide];
  TransposeTaps(conv, square, filter, taps);
  for (int64_t row = 0; row < square.height; ++row) {
    TransformTo<typename F::Filter, float> places = points.at(square.in + row);
    for (float*& place : places) place += square.out;
    std::array<const float*, kWinogradTaps> from = {};
    for (size_t tap = 0; tap < from.size(); ++tap) {
      from[tap] =
          taps + (static_cast<int64_t>(tap) * square.height + row) * kSide;
    }
    TransformSquare<typename F::Filter, float, float, RoundedFilter<T, float>>(
        from, places, square.width);
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
    const TileBegin begin = BeginOf(tiles, block.first + i);
    TransformSquare<typename F::Input, T, float>(
        PixelsFrom<F::Input::kFrom, const T*>(
            x, begin.image, begin.row - tiles.rows.pad_before,
            begin.column - tiles.columns.pad_before),
        points.at(i), x.channels);
  });
}

template <typename F, typename T>
void TransformOutputGradient(const WinogradPlan& conv, const TileBlock& block,
                             const PixelMap<const T>& dy, float* to) {
  const WinogradPoints<F::kPoints, float> points = {to, conv.block_tiles,
                                                    dy.channels};
  ForEachOnThreads(conv.team_threads, block.count, [&](int64_t i) {
    const TileBegin begin = BeginOf(conv.tiles, block.first + i);
    TransformSquare<typename F::OutputGradient, T, float>(
        PixelsFrom<F::OutputGradient::kFrom, const T*>(dy, begin.image,
                                                       begin.row, begin.column),
        points.at(i), dy.channels);
  });
}

template <typename F, typename T>
void TransformOutput(const WinogradPlan& conv, const TileBlock& block,
                     const float* from, const PixelMap<T>& y) {
  const WinogradPoints<F::kPoints, const float> points = {
      from, conv.block_tiles, y.channels};
  ForEachOnThreads(conv.team_threads, block.count, [&](int64_t i) {
    const TileBegin begin = BeginOf(conv.tiles, block.first + i);
    TransformSquare<typename F::Output, float, T>(
        points.at(i),
        PixelsFrom<F::Output::kTo, T*>(y, begin.image, begin.row, begin.column),
        y.channels);
  });
}

template <typename F, typename T>
void TransformFilterGradient(const WinogradPlan& conv, const float* from,
                             T* dfilter) {
  const WinogradPoints<F::kPoints, const float> points = {
      from, conv.out_channels, conv.in_channels};
  ForEachOnThreads(conv.threads(), conv.out_channels, [&](int64_t o) {
    TransformSquare<typename F::FilterGradient, float, T>(
        points.at(o), TapsOf(dfilter, o, conv.in_channels, /*is_turned=*/false),
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
