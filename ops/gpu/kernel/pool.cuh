// Pixels, windows and launches shared by the kernels of pools. A thread
// processes one pixel and some of its channels: a pack (pack.cuh).
#ifndef SPILLWAY_OPS_GPU_KERNEL_POOL_CUH_
#define SPILLWAY_OPS_GPU_KERNEL_POOL_CUH_

#include <cstdint>

#include "ops/gpu/kernel/pool.h"
#include "ops/gpu/thread/divide.cuh"
#include "ops/gpu/thread/pack.cuh"
#include "ops/gpu/thread/pack_size.cuh"

namespace spillway::gpu {

// A spatial dimension, prepared for division.
struct Dim {
  int input;
  int output;
  int size;
  int stride;
  int pad_before;
  Divisor by_input;
  Divisor by_output;
  Divisor by_stride;

  explicit Dim(const PoolDim& dim)
      : input(dim.input),
        output(dim.output),
        size(dim.size),
        stride(dim.stride),
        pad_before(dim.pad_before),
        by_input(dim.input),
        by_output(dim.output),
        by_stride(dim.stride) {}
};

// A pool in the form that kernels use: `channels` counts packs of `count`
// channels.
struct Windows {
  Dim planes;
  Dim rows;
  Dim columns;
  Divisor by_packs;
  int64_t inputs;   // packs of x
  int64_t outputs;  // packs of y
  bool counts_padding;

  Windows(const Pool& pool, int count)
      : planes(pool.planes),
        rows(pool.rows),
        columns(pool.columns),
        by_packs(pool.channels / count),
        inputs(pool.batch * pool.planes.input * pool.rows.input *
               pool.columns.input * by_packs.n()),
        outputs(pool.batch * pool.planes.output * pool.rows.output *
                pool.columns.output * by_packs.n()),
        counts_padding(pool.counts_padding) {}
};

struct Range {
  int begin = 0;
  int end = 0;

  __device__ int length() const { return end - begin; }
};

// The beginning of window `o`, including its padding.
__device__ inline int Origin(const Dim& dim, int o) {
  return o * dim.stride - dim.pad_before;
}

// Elements of the input, without padding, that window `o` covers.
__device__ inline Range Covered(const Dim& dim, int o) {
  const int begin = Origin(dim, o);
  const int end = begin + dim.size;
  return {begin > 0 ? begin : 0, end < dim.input ? end : dim.input};
}

// Windows that cover element `i` of the input.
__device__ inline Range Covering(const Dim& dim, int i) {
  const int last = i + dim.pad_before;
  const int first = last - dim.size + dim.stride;  // rounds up
  const int end = dim.by_stride.Divide(last) + 1;
  return {first > 0 ? dim.by_stride.Divide(first) : 0,
          end < dim.output ? end : dim.output};
}

// A pixel of x or y and the first of a thread's channels, in packs.
struct Pixel {
  int64_t image = 0;
  int plane = 0;
  int row = 0;
  int column = 0;
  int64_t pack = 0;
};

// A box of pixels of x (a window without its padding), or of y.
struct Box {
  Range planes = {};
  Range rows = {};
  Range columns = {};

  __device__ int size() const {
    return planes.length() * rows.length() * columns.length();
  }
};

// Packs of a tensor whose dimensions are Dim's kSize; kBy divides by them.
template <int Dim::*kSize, Divisor Dim::*kBy>
struct Grid {
  __device__ static Pixel PixelAt(const Windows& windows, int64_t i) {
    Pixel pixel;
    pixel.pack = windows.by_packs.Split(i);
    pixel.column = static_cast<int>((windows.columns.*kBy).Split(i));
    pixel.row = static_cast<int>((windows.rows.*kBy).Split(i));
    pixel.plane = static_cast<int>((windows.planes.*kBy).Split(i));
    pixel.image = i;
    return pixel;
  }

  __device__ static int64_t At(const Windows& windows, const Pixel& pixel) {
    const int64_t plane = pixel.image * windows.planes.*kSize + pixel.plane;
    const int64_t row = plane * windows.rows.*kSize + pixel.row;
    const int64_t column = row * windows.columns.*kSize + pixel.column;
    return column * windows.by_packs.n() + pixel.pack;
  }
};
using Inputs = Grid<&Dim::input, &Dim::by_input>;
using Outputs = Grid<&Dim::output, &Dim::by_output>;

__device__ inline Box WindowOf(const Windows& windows, const Pixel& y) {
  return {Covered(windows.planes, y.plane), Covered(windows.rows, y.row),
          Covered(windows.columns, y.column)};
}

__device__ inline Box WindowsOver(const Windows& windows, const Pixel& x) {
  return {Covering(windows.planes, x.plane), Covering(windows.rows, x.row),
          Covering(windows.columns, x.column)};
}

// Calls use(pixel, load(at)) for the pixels of a box, row-major, where `at` is
// the pack at a pixel of Tensor, Inputs or Outputs; image and pack are those of
// `like`. Two pixels of a row are loaded at once.
template <typename Tensor, typename LoadFn, typename UseFn>
__device__ void ForEachPixel(const Windows& windows, const Box& box, Pixel like,
                             const LoadFn& load, const UseFn& use) {
  for (like.plane = box.planes.begin; like.plane < box.planes.end;
       ++like.plane) {
    for (like.row = box.rows.begin; like.row < box.rows.end; ++like.row) {
      like.column = 0;
      const int64_t row = Tensor::At(windows, like);
      ForEachLoaded<2>(
          box.columns.begin, box.columns.end, 1,
          [&](int column) { return load(row + column * windows.by_packs.n()); },
          [&](int column, const auto& loaded) {
            like.column = column;
            use(like, loaded);
          });
    }
  }
}

template <typename Kernel, typename... Arguments>
LaunchError LaunchOver(int64_t packs, StreamHandle stream, Kernel kernel,
                       const Windows& windows, Arguments... tensors) {
  return Launch(stream, kernel, dim3(BlocksFor(packs)), dim3(kThreads), windows,
                tensors...);
}

// launch(T(), Count()): a thread processes Count::value channels of type T.
template <typename Fn>
LaunchError ForChannels(const Pool& pool, const Fn& launch) {
  return ForPacks(pool.dtype, pool.channels, launch);
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_POOL_CUH_
