// Pixels, windows and launches that the kernels of pools share. A thread takes
// one pixel and some of its channels: a pack (pack.cuh).
#ifndef SPILLWAY_OPS_GPU_POOL_CUH_
#define SPILLWAY_OPS_GPU_POOL_CUH_

#include <cstdint>

#include "ops/gpu/divide.cuh"
#include "ops/gpu/pack.cuh"
#include "ops/gpu/pack_size.cuh"
#include "ops/gpu/pool.h"

namespace spillway::gpu {

struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  __device__ int64_t length() const { return end - begin; }
};

// Elements of the input, without padding, under window `o`.
__device__ inline Range Covered(const PoolDim& dim, int64_t o) {
  const int64_t begin = o * dim.stride - dim.pad_before;
  const int64_t end = begin + dim.size;
  return {begin > 0 ? begin : 0, end < dim.input ? end : dim.input};
}

// Windows that cover element `i` of the input.
__device__ inline Range Covering(const PoolDim& dim, int64_t i) {
  const int64_t first = i + dim.pad_before - dim.size + 1;
  const int64_t end = Divide(i + dim.pad_before, dim.stride) + 1;
  return {first > 0 ? Divide(first + dim.stride - 1, dim.stride) : 0,
          end < dim.output ? end : dim.output};
}

// A pixel of x or y and the first of a thread's channels, in packs.
struct Pixel {
  int64_t image = 0;
  int64_t plane = 0;
  int64_t row = 0;
  int64_t column = 0;
  int64_t pack = 0;
};

// Pixels of x (kInput) or y, in packs.
template <bool kInput>
struct Grid {
  int64_t planes;
  int64_t rows;
  int64_t columns;
  int64_t packs;

  __host__ __device__ Grid(const Pool& pool, int count)
      : planes(kInput ? pool.planes.input : pool.planes.output),
        rows(kInput ? pool.rows.input : pool.rows.output),
        columns(kInput ? pool.columns.input : pool.columns.output),
        packs(pool.channels / count) {}

  __host__ __device__ int64_t size(int64_t batch) const {
    return batch * planes * rows * columns * packs;
  }

  __device__ int64_t At(const Pixel& pixel) const {
    return (((pixel.image * planes + pixel.plane) * rows + pixel.row) *
                columns +
            pixel.column) *
               packs +
           pixel.pack;
  }

  __device__ Pixel PixelAt(int64_t i) const {
    Pixel pixel;
    pixel.pack = Split(i, packs);
    pixel.column = Split(i, columns);
    pixel.row = Split(i, rows);
    pixel.plane = Split(i, planes);
    pixel.image = i;
    return pixel;
  }

 private:
  // i / n into i; returns the remainder.
  __device__ static int64_t Split(int64_t& i, int64_t n) {
    const int64_t all = i;
    i = Divide(all, n);
    return all - i * n;
  }
};
using Inputs = Grid<true>;
using Outputs = Grid<false>;

// Pixels of x (a window without its padding), or of y.
struct Box {
  Range planes = {};
  Range rows = {};
  Range columns = {};

  __device__ int64_t size() const {
    return planes.length() * rows.length() * columns.length();
  }
};

__device__ inline Box WindowOf(const Pool& pool, const Pixel& y) {
  return {Covered(pool.planes, y.plane), Covered(pool.rows, y.row),
          Covered(pool.columns, y.column)};
}

__device__ inline Box WindowsOver(const Pool& pool, const Pixel& x) {
  return {Covering(pool.planes, x.plane), Covering(pool.rows, x.row),
          Covering(pool.columns, x.column)};
}

// Calls fn(pixel) for the pixels of a box, row-major; image and pack are those
// of `like`.
template <typename Fn>
__device__ void ForEachPixel(const Box& box, Pixel like, const Fn& fn) {
  for (like.plane = box.planes.begin; like.plane < box.planes.end;
       ++like.plane) {
    for (like.row = box.rows.begin; like.row < box.rows.end; ++like.row) {
      for (like.column = box.columns.begin; like.column < box.columns.end;
           ++like.column) {
        fn(like);
      }
    }
  }
}

template <bool kInput, typename Kernel, typename... Arguments>
LaunchError LaunchOver(const Grid<kInput>& grid, StreamHandle stream,
                       Kernel kernel, const Pool& pool, Arguments... tensors) {
  return Launch(stream, kernel, dim3(BlocksFor(grid.size(pool.batch))),
                dim3(kThreads), pool, tensors...);
}

// launch(T(), Count()): a thread takes Count::value channels of type T.
template <typename Fn>
LaunchError ForChannels(const Pool& pool, const Fn& launch) {
  return ForPacks(pool.dtype, pool.channels, launch);
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_POOL_CUH_
