#include "ops/cpu/conv/winograd.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "ops/common/function_kernel.h"
#include "ops/cpu/conv/winograd_transform.h"
#include "ops/cpu/lanes.h"
#include "ops/cpu/matmul_kernel.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/storage.h"

namespace spillway {
namespace {

constexpr int64_t kTaps = 9;  // of a window
// Transformed tiles of a block, both factors, or factor and product. One core
// keeps its block in its own cache; all cores share a larger one.
constexpr int64_t kOwnBlockBytes = 1_MiB;
constexpr int64_t kSharedBlockBytes = 8_MiB;
// Beside it, a transformed filter of this size.
constexpr int64_t kSmallFilterBytes = 1_MiB;
constexpr int64_t kFloatBytes = sizeof(float);
constexpr int64_t kFloatsAlignment = 64;

// Activations [batch, rows, columns, channels] of one tensor.
template <typename T>
struct Map {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t channels = 0;

  // The channels of a pixel; null outside the map.
  T* at(int64_t image, int64_t row, int64_t column) const {
    const bool is_inside =
        row >= 0 && row < rows && column >= 0 && column < columns;
    return is_inside
               ? data + ((image * rows + row) * columns + column) * channels
               : nullptr;
  }
};

// The tiles that cover a convolution's output, image by image.
struct Tiles {
  int64_t side = 2;  // in pixels
  int64_t batch = 1;
  WindowDim rows = {};
  WindowDim columns = {};

  int64_t down() const { return (rows.output + side - 1) / side; }
  int64_t across() const { return (columns.output + side - 1) / side; }
  int64_t count() const { return batch * down() * across(); }

  template <typename T>
  Map<T> input(T* data, int64_t channels) const {
    return {data, rows.input, columns.input, channels};
  }
  template <typename T>
  Map<T> output(T* data, int64_t channels) const {
    return {data, rows.output, columns.output, channels};
  }
};

// The first pixel of a tile in the output.
struct TileBegin {
  int64_t image = 0;
  int64_t row = 0;
  int64_t column = 0;
};

TileBegin BeginOf(const Tiles& tiles, int64_t tile) {
  const int64_t row = tile / tiles.across();
  return {.image = row / tiles.down(),
          .row = row % tiles.down() * tiles.side,
          .column = tile % tiles.across() * tiles.side};
}

// The kSize x kSize pixels of `map` from this one on.
template <int kSize, typename Pointer, typename T>
std::array<Pointer, size_t{kSize} * kSize> PixelsFrom(const Map<T>& map,
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
struct Points {
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

// Some consecutive tiles.
struct Block {
  int64_t first = 0;
  int64_t count = 0;
};

// The elements of filter `o`, [window, in_channels], in order or turned by 180
// degrees.
template <typename T>
std::array<T*, kTaps> TapsOf(T* filter, int64_t o, int64_t in_channels,
                             bool is_turned) {
  std::array<T*, kTaps> taps = {};
  for (int64_t i = 0; i < kTaps; ++i) {
    const int64_t tap = is_turned ? kTaps - 1 - i : i;
    taps[static_cast<size_t>(i)] = filter + (o * kTaps + tap) * in_channels;
  }
  return taps;
}

// Calls fn(i) for each i in [0, n), on several threads.
template <typename Fn>
void ForEachOnThreads(int threads, int64_t n, const Fn& fn) {
  ParallelFor(threads, n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) fn(i);
  });
}

// Numbers that all kernels share. Teams of threads work beside each other, each
// on its own blocks.
struct Winograd {
  Tiles tiles = {};
  int64_t points = 1;        // of a tile and of a filter
  int64_t in_channels = 1;   // of the stored filter
  int64_t out_channels = 1;  // of the stored filter
  int64_t block_tiles = 1;
  int teams = 1;
  int team_threads = 1;

  int threads() const { return teams * team_threads; }
  int64_t filter_floats() const {
    return Aligned(points * out_channels * in_channels);
  }
  bool has_small_filter() const {
    return filter_floats() * kFloatBytes <= kSmallFilterBytes;
  }
  // One block, transformed, of this many channels.
  int64_t block_floats(int64_t channels) const {
    return Aligned(points * block_tiles * channels);
  }
  // Both tensors' blocks.
  int64_t blocks_floats() const {
    return block_floats(in_channels) + block_floats(out_channels);
  }

  // Calls fn(team, block) for every block, with a team's blocks in order.
  template <typename Fn>
  absl::Status ForEachBlock(const Fn& fn) const {
    std::vector<absl::Status> done(static_cast<size_t>(teams));
    ForEachOnThreads(teams, teams, [&](int64_t team) {
      done[static_cast<size_t>(team)] = ForEachBlockOf(team, fn);
    });
    for (absl::Status& status : done) {
      SPILLWAY_RETURN_IF_ERROR(std::move(status));
    }
    return absl::OkStatus();
  }

 private:
  static int64_t Aligned(int64_t floats) {
    return AlignUp(floats, kFloatsAlignment);
  }

  template <typename Fn>
  absl::Status ForEachBlockOf(int64_t team, const Fn& fn) const {
    const int64_t end = tiles.count() * (team + 1) / teams;
    for (int64_t i = tiles.count() * team / teams; i < end; i += block_tiles) {
      SPILLWAY_RETURN_IF_ERROR(
          fn(team, Block{i, std::min(block_tiles, end - i)}));
    }
    return absl::OkStatus();
  }
};

// Each thread works alone, unless there are few tiles, or filters so large that
// every block should have many tiles.
int NumTeams(const Winograd& conv, int threads) {
  constexpr int64_t kTiles = 64;
  return conv.has_small_filter() && conv.tiles.count() >= threads * kTiles
             ? threads
             : 1;
}

// Bytes of the two tensors of pixels, in float32.
int64_t TensorBytes(const Winograd& conv) {
  const auto pixels = [&](int64_t WindowDim::*size) {
    return conv.tiles.batch * (conv.tiles.rows.*size) *
           (conv.tiles.columns.*size);
  };
  return kFloatBytes * (pixels(&WindowDim::input) * conv.in_channels +
                        pixels(&WindowDim::output) * conv.out_channels);
}

// A team's blocks are equal. They fit the cache, and are small beside the
// tensors, unless they would have only a few tiles: the more, the larger the
// filter, which each block reads.
int64_t BlockTiles(const Winograd& conv) {
  constexpr int64_t kPart = 8;
  const int64_t bytes =
      std::min(conv.team_threads == 1 ? kOwnBlockBytes : kSharedBlockBytes,
               TensorBytes(conv) / kPart / conv.teams);
  const int64_t tile_bytes =
      conv.points * (conv.in_channels + conv.out_channels) * kFloatBytes;
  const int64_t least = conv.has_small_filter() ? 24 : 192;
  const int64_t most = std::max(bytes / tile_bytes, least);
  const int64_t tiles = (conv.tiles.count() + conv.teams - 1) / conv.teams;
  const int64_t blocks = (tiles + most - 1) / most;
  return (tiles + blocks - 1) / blocks;
}

template <typename F>
Winograd MakeWinograd(const ConvSpec& spec, const Window& window) {
  const ConvGeometry& geometry = spec.geometry;
  Winograd conv = {.tiles = {.side = F::kTile,
                             .batch = geometry.batch,
                             .rows = window[0],
                             .columns = window[1]},
                   .points = int64_t{F::kPoints} * F::kPoints,
                   .in_channels = geometry.in_channels,
                   .out_channels = geometry.out_channels};
  conv.teams = NumTeams(conv, spec.threads);
  conv.team_threads = spec.threads / conv.teams;
  conv.block_tiles = BlockTiles(conv);
  return conv;
}

// As everywhere, activations of bfloat16 meet filters that are rounded to it.
template <typename T, typename Filter>
using RoundedFilter =
    std::conditional_t<std::is_same_v<T, BFloat16>, BFloat16, Filter>;

// Points [out_channels, in_channels].
template <typename F, typename T, typename Filter>
void TransformFilter(const Winograd& conv, const Filter* filter, bool is_turned,
                     float* to) {
  const Points<F::kPoints, float> points = {to, conv.out_channels,
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
void TransposeTaps(const Winograd& conv, const ChannelSquare& square,
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
void TransformTransposedSquare(const Winograd& conv,
                               const ChannelSquare& square,
                               const Filter* filter, float* to) {
  constexpr int64_t kSide = ChannelSquare::kSide;
  const Points<F::kPoints, float> points = {to, conv.in_channels,
                                            conv.out_channels};
  float taps[kTaps * kSide * kSide];
  TransposeTaps(conv, square, filter, taps);
  for (int64_t row = 0; row < square.height; ++row) {
    TransformTo<typename F::Filter, float> places = points.at(square.in + row);
    for (float*& place : places) place += square.out;
    std::array<const float*, kTaps> from = {};
    for (size_t tap = 0; tap < from.size(); ++tap) {
      from[tap] =
          taps + (static_cast<int64_t>(tap) * square.height + row) * kSide;
    }
    TransformSquare<typename F::Filter, float, float, RoundedFilter<T, float>>(
        from, places, square.width);
  }
}

template <typename F, typename T, typename Filter>
void TransformTransposedFilter(const Winograd& conv, const Filter* filter,
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
void TransformInput(const Winograd& conv, const Block& block,
                    const Map<const T>& x, float* to) {
  const Points<F::kPoints, float> points = {to, conv.block_tiles, x.channels};
  const Tiles& tiles = conv.tiles;
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
void TransformOutputGradient(const Winograd& conv, const Block& block,
                             const Map<const T>& dy, float* to) {
  const Points<F::kPoints, float> points = {to, conv.block_tiles, dy.channels};
  ForEachOnThreads(conv.team_threads, block.count, [&](int64_t i) {
    const TileBegin begin = BeginOf(conv.tiles, block.first + i);
    TransformSquare<typename F::OutputGradient, T, float>(
        PixelsFrom<F::OutputGradient::kFrom, const T*>(dy, begin.image,
                                                       begin.row, begin.column),
        points.at(i), dy.channels);
  });
}

template <typename F, typename T>
void TransformOutput(const Winograd& conv, const Block& block,
                     const float* from, const Map<T>& y) {
  const Points<F::kPoints, const float> points = {from, conv.block_tiles,
                                                  y.channels};
  ForEachOnThreads(conv.team_threads, block.count, [&](int64_t i) {
    const TileBegin begin = BeginOf(conv.tiles, block.first + i);
    TransformSquare<typename F::Output, float, T>(
        points.at(i),
        PixelsFrom<F::Output::kTo, T*>(y, begin.image, begin.row, begin.column),
        y.channels);
  });
}

template <typename F, typename T>
void TransformFilterGradient(const Winograd& conv, const float* from,
                             T* dfilter) {
  const Points<F::kPoints, const float> points = {from, conv.out_channels,
                                                  conv.in_channels};
  ForEachOnThreads(conv.threads(), conv.out_channels, [&](int64_t o) {
    TransformSquare<typename F::FilterGradient, float, T>(
        points.at(o), TapsOf(dfilter, o, conv.in_channels, /*is_turned=*/false),
        conv.in_channels);
  });
}

// Zeros in all rows of a block of points that it does not fill.
template <typename F>
void PadBlock(const Winograd& conv, const Block& block, int64_t channels,
              float* to) {
  const Points<F::kPoints, float> points = {to, conv.block_tiles, channels};
  const int64_t floats = (conv.block_tiles - block.count) * channels;
  if (floats == 0) return;
  for (float* end : points.at(block.count)) std::fill_n(end, floats, 0.0F);
}

// The batches of products of the teams' blocks, each between parts of the
// workspace.
class Products {
 public:
  // Errors: as MakeMatMulKernel.
  static absl::StatusOr<Products> Make(MatMulSpec spec, const Winograd& conv) {
    spec.batch = conv.points;
    Products products;
    for (int team = 0; team < conv.teams; ++team) {
      SPILLWAY_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> product,
                                MakeMatMulKernel(spec, conv.team_threads));
      products.by_team_.push_back(std::move(product));
    }
    return products;
  }

  // Of one team.
  int64_t workspace_floats() const {
    return AlignUp(by_team_[0]->workspace_bytes(),
                   kFloatsAlignment * kFloatBytes) /
           kFloatBytes;
  }

  absl::Status Run(int64_t team, float* a, float* b, float* y,
                   float* workspace) const {
    const std::array<void*, 2> factors = {a, b};
    const std::array<void*, 1> results = {y};
    return by_team_[static_cast<size_t>(team)]->Run(
        {.inputs = factors, .outputs = results, .workspace = workspace});
  }

 private:
  std::vector<std::unique_ptr<Kernel>> by_team_;
};

// A convolution of `from` that gives `to`: of x, or of dy by the filters turned
// and with their channels exchanged.
struct ForwardSpec {
  Winograd conv = {};
  bool is_turned = false;
  int from = 0;  // inputs
  int filter = 0;

  // A product reads the filter as it lies, or with its channels exchanged in
  // memory: this pays for small filters, which many blocks read.
  bool is_transposed() const { return !is_turned && conv.has_small_filter(); }
  int64_t from_channels() const {
    return is_turned ? conv.out_channels : conv.in_channels;
  }
  int64_t to_channels() const {
    return is_turned ? conv.in_channels : conv.out_channels;
  }
};

// As the products of `spec` read it.
template <typename F, typename T, typename Filter>
void TransformFilterFor(const ForwardSpec& spec, const Filter* stored,
                        float* to) {
  if (spec.is_transposed()) {
    TransformTransposedFilter<F, T>(spec.conv, stored, to);
  } else {
    TransformFilter<F, T>(spec.conv, stored, spec.is_turned, to);
  }
}

// The workspace: the filter; and of each team the pixels and products of a
// block, and what its products need.
template <typename F, typename T, typename Filter>
NewKernel ForwardKernel(const ForwardSpec& spec) {
  SPILLWAY_ASSIGN_OR_RETURN(
      Products products,
      Products::Make({.m = spec.conv.block_tiles,
                      .k = spec.from_channels(),
                      .n = spec.to_channels(),
                      .transpose_b = !spec.is_turned && !spec.is_transposed()},
                     spec.conv));
  const int64_t team_floats =
      spec.conv.blocks_floats() + products.workspace_floats();
  const int64_t floats =
      spec.conv.filter_floats() + spec.conv.teams * team_floats;
  return MakeKernel(
      [=, products = std::move(products)](const KernelContext& context) {
        const Winograd& conv = spec.conv;
        const auto x =
            conv.tiles.input(context.input<T>(static_cast<size_t>(spec.from)),
                             spec.from_channels());
        const auto y =
            conv.tiles.output(context.output<T>(0), spec.to_channels());
        auto* filter = static_cast<float*>(context.workspace);
        TransformFilterFor<F, T>(
            spec, context.input<Filter>(static_cast<size_t>(spec.filter)),
            filter);
        float* teams = filter + conv.filter_floats();
        return conv.ForEachBlock(
            [&](int64_t team, const Block& block) -> absl::Status {
              float* pixels = teams + team * team_floats;
              float* sums = pixels + conv.block_floats(x.channels);
              float* rest = sums + conv.block_floats(y.channels);
              TransformInput<F, T>(conv, block, x, pixels);
              SPILLWAY_RETURN_IF_ERROR(
                  products.Run(team, pixels, filter, sums, rest));
              TransformOutput<F, T>(conv, block, sums, y);
              return absl::OkStatus();
            });
      },
      floats * kFloatBytes);
}

// Adds all teams' sums, `stride` floats apart, to those of the first.
void JoinSums(const Winograd& conv, int64_t stride, float* sums) {
  constexpr int64_t kGrain = 4096;
  if (conv.teams == 1) return;
  ParallelFor(conv.threads(), conv.filter_floats(), kGrain,
              [&](int64_t begin, int64_t end) {
                for (int64_t team = 1; team < conv.teams; ++team) {
                  const float* other = sums + team * stride;
                  for (int64_t i = begin; i < end; ++i) sums[i] += other[i];
                }
              });
}

// The workspace, of each team: sums of products, the pixels and gradients of a
// block, and what its products need.
template <typename F, typename T, typename Filter>
NewKernel FilterGradientKernel(const Winograd& of, int x_index, int dy_index) {
  SPILLWAY_ASSIGN_OR_RETURN(Products products,
                            Products::Make({.m = of.out_channels,
                                            .k = of.block_tiles,
                                            .n = of.in_channels,
                                            .transpose_a = true,
                                            .adds_to_y = true},
                                           of));
  const int64_t team_floats =
      of.filter_floats() + of.blocks_floats() + products.workspace_floats();
  return MakeKernel(
      [=, conv = of,
       products = std::move(products)](const KernelContext& context) {
        const auto x = conv.tiles.input(
            context.input<T>(static_cast<size_t>(x_index)), conv.in_channels);
        const auto dy = conv.tiles.output(
            context.input<T>(static_cast<size_t>(dy_index)), conv.out_channels);
        auto* all = static_cast<float*>(context.workspace);
        for (int team = 0; team < conv.teams; ++team) {
          std::fill_n(all + team * team_floats, conv.filter_floats(), 0.0F);
        }
        SPILLWAY_RETURN_IF_ERROR(conv.ForEachBlock(
            [&](int64_t team, const Block& block) -> absl::Status {
              float* sums = all + team * team_floats;
              float* pixels = sums + conv.filter_floats();
              float* gradients = pixels + conv.block_floats(x.channels);
              float* rest = gradients + conv.block_floats(dy.channels);
              TransformInput<F, T>(conv, block, x, pixels);
              PadBlock<F>(conv, block, x.channels, pixels);
              TransformOutputGradient<F, T>(conv, block, dy, gradients);
              PadBlock<F>(conv, block, dy.channels, gradients);
              return products.Run(team, gradients, pixels, sums, rest);
            }));
        JoinSums(conv, team_floats, all);
        TransformFilterGradient<F>(conv, all, context.output<Filter>(0));
        return absl::OkStatus();
      },
      of.teams * team_floats * kFloatBytes);
}

// make(T(), Filter()) for the dtypes of activations and filter.
template <typename Make>
NewKernel ForDTypes(const ConvSpec& spec, const Make& make) {
  const TensorType x = {.dtype = spec.x.dtype, .shape = {}};
  const TensorType filter = {.dtype = spec.filter.dtype, .shape = {}};
  return ForStorage(x, [&]<typename T>(T) -> NewKernel {
    return ForStorage(filter, [&]<typename Filter>(Filter) -> NewKernel {
      return make(T(), Filter());
    });
  });
}

// Calls make(F()) for the tiles that are asked for.
template <typename Make>
NewKernel ForTile(WinogradTile tile, const Make& make) {
  return tile == WinogradTile::k2x2 ? make(Winograd2x2()) : make(Winograd4x4());
}

template <typename F>
NewKernel MakeForward(const ConvSpec& dtypes, const ForwardSpec& spec) {
  return ForDTypes(dtypes, [&]<typename T, typename Filter>(T, Filter) {
    return ForwardKernel<F, T, Filter>(spec);
  });
}

// The window over dy that gives dx.
Window BackwardWindow(const Window& window) {
  Window backward = window;
  for (WindowDim& dim : backward) {
    std::swap(dim.input, dim.output);
    dim.pad_before = dim.size - 1 - dim.pad_before;
    dim.pad_after = dim.size - 1 - dim.pad_after;
  }
  return backward;
}

}  // namespace

bool HasWinograd(const ConvGeometry& conv) {
  return HasAvx512() && conv.groups == 1 && conv.window.size() == 2 &&
         std::ranges::all_of(conv.window, [](const WindowDim& dim) {
           return dim.size == 3 && dim.stride == 1 && dim.dilation == 1;
         });
}

bool PrefersWinograd(const ConvSpec& spec) {
  constexpr int64_t kChannels = 32;
  const bool has_fast_direct =
      spec.x.dtype == DType::kBFloat16 && HasAmxBFloat16();
  return HasWinograd(spec.geometry) && !has_fast_direct &&
         spec.geometry.in_channels >= kChannels &&
         spec.geometry.out_channels >= kChannels;
}

NewKernel MakeWinogradKernel(const ConvSpec& spec, WinogradTile tile) {
  return ForTile(tile, [&]<typename F>(F) {
    return MakeForward<F>(spec,
                          {.conv = MakeWinograd<F>(spec, spec.geometry.window),
                           .from = spec.x.place.index,
                           .filter = spec.filter.place.index});
  });
}

NewKernel MakeWinogradInputGradientKernel(const ConvSpec& spec,
                                          WinogradTile tile) {
  const Window window = BackwardWindow(spec.geometry.window);
  return ForTile(tile, [&]<typename F>(F) {
    return MakeForward<F>(spec, {.conv = MakeWinograd<F>(spec, window),
                                 .is_turned = true,
                                 .from = spec.y.place.index,
                                 .filter = spec.filter.place.index});
  });
}

NewKernel MakeWinogradFilterGradientKernel(const ConvSpec& spec,
                                           WinogradTile tile) {
  return ForTile(tile, [&]<typename F>(F) {
    const Winograd conv = MakeWinograd<F>(spec, spec.geometry.window);
    return ForDTypes(spec, [&]<typename T, typename Filter>(T, Filter) {
      return FilterGradientKernel<F, T, Filter>(conv, spec.x.place.index,
                                                spec.y.place.index);
    });
  });
}

}  // namespace spillway
