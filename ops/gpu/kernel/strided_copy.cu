#include "ops/gpu/kernel/strided_copy.h"
#include "ops/gpu/thread/divide.cuh"
#include "ops/gpu/thread/launch.cuh"

namespace spillway::gpu {
namespace {

// An element of any type of this size; it is copied with one move.
template <int kBytes>
struct alignas(kBytes) Element {
  unsigned char bytes[kBytes];
};

// Offsets in elements from the start of either tensor.
struct Places {
  int64_t from = 0;
  int64_t to = 0;
};

// The offsets of element i of the box, row-major.
__device__ Places PlacesOf(const StridedBox& box, int64_t i) {
  Places places = {box.from_offset, box.to_offset};
  for (int axis = box.rank - 1; axis > 0; --axis) {
    const StridedDim& dim = box.dims[axis];
    const int64_t outer = Divide(i, dim.size);
    const int64_t place = i - outer * dim.size;
    places.from += place * dim.from_stride;
    places.to += place * dim.to_stride;
    i = outer;
  }
  places.from += i * box.dims[0].from_stride;
  places.to += i * box.dims[0].to_stride;
  return places;
}

// Adjacent threads write adjacent elements.
template <typename T>
__global__ void CopyKernel(StridedBox box, int64_t n, const T* from, T* to) {
  ForEachItem(n, [&](int64_t i) {
    const Places places = PlacesOf(box, i);
    to[places.to] = from[places.from];
  });
}

constexpr int kTile = 32;

// Matrices of rows x columns. Elements of a column are adjacent in `from`,
// those of a row in `to`.
struct Matrices {
  StridedBox first_elements = {};
  int64_t count = 1;
  int64_t rows = 1;
  int64_t row_stride = 0;  // of `to`
  int64_t columns = 1;
  int64_t column_stride = 0;  // of `from`
};

__host__ __device__ int64_t TilesOf(int64_t n) {
  return (n + kTile - 1) / kTile;
}

// A block copies a tile through shared memory, so that its threads both read
// and write adjacent elements.
template <typename T>
__global__ void TransposeKernel(Matrices matrices, int64_t tiles, const T* from,
                                T* to) {
  __shared__ T tile[kTile][kTile + 1];
  const int64_t tiles_across = TilesOf(matrices.columns);
  const int64_t tiles_down = TilesOf(matrices.rows);
  const int lane = static_cast<int>(threadIdx.x) % kTile;
  const int first_line = static_cast<int>(threadIdx.x) / kTile;
  const int lines = static_cast<int>(kThreads) / kTile;
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int64_t down = Divide(t, tiles_across);
    const int64_t matrix = Divide(down, tiles_down);
    const int64_t column = (t - down * tiles_across) * kTile;
    const int64_t row = (down - matrix * tiles_down) * kTile;
    const Places first = PlacesOf(matrices.first_elements, matrix);
    for (int c = first_line; c < kTile; c += lines) {
      if (column + c < matrices.columns && row + lane < matrices.rows) {
        tile[c][lane] =
            from[first.from + (column + c) * matrices.column_stride + row +
                 lane];
      }
    }
    __syncthreads();
    for (int r = first_line; r < kTile; r += lines) {
      if (row + r < matrices.rows && column + lane < matrices.columns) {
        to[first.to + (row + r) * matrices.row_stride + column + lane] =
            tile[lane][r];
      }
    }
    __syncthreads();
  }
}

int64_t ElementsOf(const StridedBox& box) {
  int64_t n = 1;
  for (int axis = 0; axis < box.rank; ++axis) n *= box.dims[axis].size;
  return n;
}

// The dimension of the box that becomes the rows of its Matrices, or -1 if that
// is not worth it.
int RowAxis(const StridedBox& box) {
  constexpr int64_t kLeast = kTile / 2;
  const StridedDim& columns = box.dims[box.rank - 1];
  const bool is_repeated = columns.from_stride == 0;
  if (columns.to_stride != 1 || is_repeated || columns.size < kLeast) return -1;
  for (int axis = 0; axis < box.rank - 1; ++axis) {
    const StridedDim& rows = box.dims[axis];
    if (rows.from_stride == 1 && rows.size >= kLeast) return axis;
  }
  return -1;
}

Matrices MatricesOf(const StridedBox& box, int row_axis) {
  StridedBox firsts = box;
  firsts.dims[row_axis] = {};
  firsts.dims[box.rank - 1] = {};
  return {.first_elements = firsts,
          .count = ElementsOf(firsts),
          .rows = box.dims[row_axis].size,
          .row_stride = box.dims[row_axis].to_stride,
          .columns = box.dims[box.rank - 1].size,
          .column_stride = box.dims[box.rank - 1].from_stride};
}

template <typename T>
LaunchError LaunchTranspose(StreamHandle stream, const Matrices& matrices,
                            const T* from, T* to) {
  const int64_t tiles =
      matrices.count * TilesOf(matrices.rows) * TilesOf(matrices.columns);
  return Launch(stream, TransposeKernel<T>, dim3(BlocksFor(tiles * kThreads)),
                dim3(kThreads), matrices, tiles, from, to);
}

template <int kBytes>
LaunchError LaunchCopy(StreamHandle stream, const StridedBox& box,
                       const void* from, void* to) {
  using T = Element<kBytes>;
  const T* source = static_cast<const T*>(from);
  T* target = static_cast<T*>(to);
  const int row_axis = RowAxis(box);
  if (row_axis >= 0) {
    return LaunchTranspose(stream, MatricesOf(box, row_axis), source, target);
  }
  const int64_t n = ElementsOf(box);
  return Launch(stream, CopyKernel<T>, dim3(BlocksFor(n)), dim3(kThreads), box,
                n, source, target);
}

struct alignas(16) TwoPatterns {
  uint64_t first;
  uint64_t second;
};

// The first threads also handle the last bytes, which are too few for 16.
__global__ void FillKernel(uint64_t pattern, int64_t num_bytes, void* to) {
  const int64_t pairs = num_bytes / 16;
  ForEachItem(pairs, [&](int64_t i) {
    static_cast<TwoPatterns*>(to)[i] = {pattern, pattern};
  });
  ForEachItem(num_bytes - pairs * 16, [&](int64_t i) {
    static_cast<unsigned char*>(to)[pairs * 16 + i] =
        static_cast<unsigned char>(pattern >> (i % 8 * 8));
  });
}

}  // namespace

LaunchError CopyBox(StreamHandle stream, const StridedBox& box,
                    const void* from, void* to) {
  switch (box.element_bytes) {
    case 1:
      return LaunchCopy<1>(stream, box, from, to);
    case 2:
      return LaunchCopy<2>(stream, box, from, to);
    case 4:
      return LaunchCopy<4>(stream, box, from, to);
    case 8:
      return LaunchCopy<8>(stream, box, from, to);
    default:
      return LaunchCopy<16>(stream, box, from, to);
  }
}

LaunchError Fill(StreamHandle stream, uint64_t pattern, void* to,
                 int64_t num_bytes) {
  return Launch(stream, FillKernel, dim3(BlocksFor(num_bytes, 16)),
                dim3(kThreads), pattern, num_bytes, to);
}

}  // namespace spillway::gpu
