// Tiles of channels are split among threads. A tile's rows of dy and of x, the
// latter with its padding, are copied to float32 in the workspace. There the
// products with all columns of the window are a loop without a branch.
#include "ops/cpu/conv/depthwise_filter_gradient.h"

#include <algorithm>
#include <cstdint>

#include "base/interval.h"
#include "ops/common/function_kernel.h"
#include "ops/cpu/lanes.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/storage.h"
#include "ops/cpu/window_geometry.h"

namespace spillway {
namespace {

// Vectors in a tile.
constexpr int64_t kVectors = 2;

template <int kBytes>
constexpr int64_t kTile = kVectors* Lanes<kBytes>::kCount;

// The convolution, and the floats of a tile: a sum for each element of the
// window, a row of dy, and a row of x with its padding.
struct Depthwise {
  WindowGeometry conv = {};
  int64_t tile = 1;

  int64_t taps() const {
    return conv.planes.size * conv.rows.size * conv.columns.size;
  }
  int64_t padded_columns() const {
    return (conv.columns.output - 1) * conv.columns.stride +
           conv.columns.extent();
  }
  int64_t dy_begin() const { return taps() * tile; }
  int64_t x_begin() const { return dy_begin() + conv.columns.output * tile; }
  int64_t size() const { return x_begin() + padded_columns() * tile; }
};

// A tile: the offset of its channels in x and dy, their number, and its part of
// the workspace.
template <typename T>
struct Tile {
  const T* x = nullptr;
  const T* dy = nullptr;
  int64_t channels = 0;
  float* floats = nullptr;
};

// Copies one tile of `n` pixels that are `step` elements apart.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void CopyRow(const T* from, int64_t n,
                                           int64_t step, int64_t channels,
                                           float* to) {
  using L = Lanes<kBytes>;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t c = 0; c < kTile<kBytes>; c += L::kCount) {
      typename L::Floats value = {};
      const int64_t lanes = std::min(L::kCount, channels - c);
      if (lanes > 0) L::Load(from + c, lanes, value);
      L::Store(value, L::kCount, to + c);
    }
    from += step;
    to += kTile<kBytes>;
  }
}

// Adds the products of `n` pixels of dy with kTaps columns of the window, which
// are `tap_step` apart in x, to their sums. Pixels of x are `step` apart.
template <int kBytes, int kTaps>
[[gnu::always_inline]] inline void AddTaps(const float* x, int64_t tap_step,
                                           int64_t step, const float* dy,
                                           int64_t n, float* sums) {
  using L = Lanes<kBytes>;
  typename L::Floats products[kTaps][kVectors] = {};
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t v = 0; v < kVectors; ++v) {
      typename L::Floats gradient = {};
      L::Load(dy + v * L::kCount, L::kCount, gradient);
      for (int tap = 0; tap < kTaps; ++tap) {
        typename L::Floats value = {};
        L::Load(x + tap * tap_step + v * L::kCount, L::kCount, value);
        products[tap][v] += value * gradient;
      }
    }
    x += step;
    dy += kTile<kBytes>;
  }
  for (int tap = 0; tap < kTaps; ++tap) {
    for (int64_t v = 0; v < kVectors; ++v) {
      float* place = sums + tap * kTile<kBytes> + v * L::kCount;
      typename L::Floats sum = {};
      L::Load(place, L::kCount, sum);
      sum += products[tap][v];
      L::Store(sum, L::kCount, place);
    }
  }
}

// Adds the products of the tile's row of dy and its row of x, for one row of
// the window, to the sums at `sums`. Takes as many columns at a time as fit
// into registers.
template <int kBytes>
[[gnu::always_inline]] inline void AddWindowRow(const Depthwise& depthwise,
                                                const float* floats,
                                                float* sums) {
  const WindowDim& columns = depthwise.conv.columns;
  const float* dy = floats + depthwise.dy_begin();
  const int64_t tap_step = columns.dilation * kTile<kBytes>;
  const int64_t step = columns.stride * kTile<kBytes>;
  const auto x = [&](int64_t tap) {
    return floats + depthwise.x_begin() + tap * tap_step;
  };
  int64_t tap = 0;
  for (; tap + 4 <= columns.size; tap += 4) {
    AddTaps<kBytes, 4>(x(tap), tap_step, step, dy, columns.output,
                       sums + tap * kTile<kBytes>);
  }
  for (; tap + 2 <= columns.size; tap += 2) {
    AddTaps<kBytes, 2>(x(tap), tap_step, step, dy, columns.output,
                       sums + tap * kTile<kBytes>);
  }
  if (tap < columns.size) {
    AddTaps<kBytes, 1>(x(tap), tap_step, step, dy, columns.output,
                       sums + tap * kTile<kBytes>);
  }
}

// Adds one row of one image of dy, for all elements of the window.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void AddRow(const Depthwise& depthwise,
                                          int64_t plane, int64_t row,
                                          const Tile<T>& image) {
  const WindowGeometry& conv = depthwise.conv;
  const WindowDim& columns = conv.columns;
  CopyRow<kBytes>(image.dy + conv.y_at(plane, row, 0), columns.output,
                  conv.channels, image.channels,
                  image.floats + depthwise.dy_begin());
  const int64_t inside = std::clamp<int64_t>(
      depthwise.padded_columns() - columns.pad_before, 0, columns.input);
  float* x =
      image.floats + depthwise.x_begin() + columns.pad_before * kTile<kBytes>;
  float* sums = image.floats;
  for (int64_t p = 0; p < conv.planes.size; ++p) {
    const int64_t x_plane = conv.planes.begin(plane) + p * conv.planes.dilation;
    for (int64_t r = 0; r < conv.rows.size; ++r) {
      const int64_t x_row = conv.rows.begin(row) + r * conv.rows.dilation;
      if (0 <= x_plane && x_plane < conv.planes.input && 0 <= x_row &&
          x_row < conv.rows.input) {
        CopyRow<kBytes>(image.x + conv.at(x_plane, x_row, 0), inside,
                        conv.channels, image.channels, x);
        AddWindowRow<kBytes>(depthwise, image.floats, sums);
      }
      sums += columns.size * kTile<kBytes>;
    }
  }
}

// The sums of one tile over all images.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void AddImages(const Depthwise& depthwise,
                                             const Tile<T>& all) {
  const WindowGeometry& conv = depthwise.conv;
  std::fill_n(all.floats, depthwise.size(), 0.0F);
  Tile<T> image = all;
  for (int64_t n = 0; n < conv.batch; ++n) {
    for (int64_t plane = 0; plane < conv.planes.output; ++plane) {
      for (int64_t row = 0; row < conv.rows.output; ++row) {
        AddRow<kBytes>(depthwise, plane, row, image);
      }
    }
    image.x += conv.image_size();
    image.dy += conv.y_image_size();
  }
}

template <typename T>
void AddImagesBaseline(const Depthwise& depthwise, const Tile<T>& all) {
  AddImages<16>(depthwise, all);
}
template <typename T>
[[gnu::target("avx2")]] void AddImagesAvx2(const Depthwise& depthwise,
                                           const Tile<T>& all) {
  AddImages<32>(depthwise, all);
}

// Writes dfilter [channels, window] of one tile from its sums [window,
// channels].
template <typename Filter>
void StoreTile(const Depthwise& depthwise, const float* sums, int64_t channels,
               Filter* dfilter) {
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t tap = 0; tap < depthwise.taps(); ++tap) {
      *dfilter++ = Store<Filter>(sums[tap * depthwise.tile + c]);
    }
  }
}

// Computes some of the tiles one after the other in the same floats. `all`
// begins at the first channel.
template <typename T, typename Filter>
void RunTiles(const Depthwise& depthwise, const Interval& tiles,
              const Tile<T>& all, Filter* dfilter) {
  const auto add = HasAvx2() ? AddImagesAvx2<T> : AddImagesBaseline<T>;
  for (int64_t i = tiles.begin; i < tiles.end; ++i) {
    const int64_t c = i * depthwise.tile;
    const Tile<T> tile = {
        .x = all.x + c,
        .dy = all.dy + c,
        .channels = std::min(depthwise.tile, all.channels - c),
        .floats = all.floats};
    add(depthwise, tile);
    StoreTile(depthwise, tile.floats, tile.channels,
              dfilter + c * depthwise.taps());
  }
}

template <typename T, typename Filter>
NewKernel GradientKernel(const ConvSpec& spec) {
  const WindowGeometry conv = MakeWindowGeometry(
      spec.geometry.batch, spec.geometry.in_channels, spec.geometry.window);
  const Depthwise depthwise = {.conv = conv,
                               .tile = HasAvx2() ? kTile<32> : kTile<16>};
  const int64_t tiles = (conv.channels + depthwise.tile - 1) / depthwise.tile;
  const int64_t parts = std::min<int64_t>(spec.threads, tiles);
  const auto run_part = [=, x = spec.x.place.index, dy = spec.y.place.index](
                            const KernelContext& context, int64_t part) {
    const Tile<T> all = {.x = context.input<T>(static_cast<size_t>(x)),
                         .dy = context.input<T>(static_cast<size_t>(dy)),
                         .channels = depthwise.conv.channels,
                         .floats = static_cast<float*>(context.workspace) +
                                   part * depthwise.size()};
    RunTiles(depthwise, {tiles * part / parts, tiles * (part + 1) / parts}, all,
             context.output<Filter>(0));
  };
  const int64_t floats = parts * depthwise.size();
  return MakeKernel(
      [=](const KernelContext& context) {
        ParallelFor(static_cast<int>(parts), parts, 1,
                    [&](int64_t begin, int64_t end) {
                      for (int64_t part = begin; part < end; ++part) {
                        run_part(context, part);
                      }
                    });
      },
      floats * static_cast<int64_t>(sizeof(float)));
}

}  // namespace

// oneDNN has a depthwise primitive for two dimensions, at most three columns,
// and tight padding.
bool HasOwnFilterGradient(const ConvGeometry& conv) {
  const bool is_depthwise =
      conv.groups == conv.in_channels && conv.groups == conv.out_channels;
  const bool is_small =
      conv.window.size() == 2 && conv.window[1].size <= 3 &&
      std::ranges::all_of(
          conv.window, [](const WindowDim& dim) { return dim.dilation == 1; });
  return is_depthwise && !is_small;
}

NewKernel MakeDepthwiseFilterGradientKernel(const ConvSpec& spec) {
  return ForConvStorage(spec, [&]<typename T, typename Filter>(T, Filter) {
    return GradientKernel<T, Filter>(spec);
  });
}

}  // namespace spillway
