#include "ops/gpu/pool.cuh"
#include "ops/gpu/pool.h"

namespace spillway::gpu {
namespace {

// The largest elements of a window and where they are, in packs of x: of equal
// ones the first. A NaN counts as small unless it comes first.
template <int kCount>
struct Maxima {
  float values[kCount];
  int64_t places[kCount];
};

template <int kCount, typename T>
__device__ Maxima<kCount> FindMaxima(const Pool& pool, const Pixel& y,
                                     const T* x) {
  const Inputs inputs(pool, kCount);
  Maxima<kCount> most;
  bool is_first = true;
  ForEachPixel(WindowOf(pool, y), y, [&](const Pixel& pixel) {
    const int64_t at = inputs.At(pixel);
    const auto pack = PacksOf<kCount>(x)[at];
    for (int k = 0; k < kCount; ++k) {
      const float value = Load(pack.items[k]);
      if (is_first || value > most.values[k]) {
        most.values[k] = value;
        most.places[k] = at;
      }
    }
    is_first = false;
  });
  return most;
}

template <int kCount, typename T>
__global__ void MaxPoolKernel(Pool pool, const T* x, T* y) {
  const Outputs outputs(pool, kCount);
  ForEachItem(outputs.size(pool.batch), [&](int64_t i) {
    const auto most = FindMaxima<kCount>(pool, outputs.PixelAt(i), x);
    Pack<T, kCount> result;
    for (int k = 0; k < kCount; ++k) {
      result.items[k] = Store<T>(most.values[k]);
    }
    PacksOf<kCount>(y)[i] = result;
  });
}

// Elements of the input from the begin of window `o` to that of the next; the
// first and the last window have all that is left. Windows do not overlap.
__device__ Range Cell(const PoolDim& dim, int64_t o) {
  const int64_t begin = o * dim.stride - dim.pad_before;
  return {o == 0 ? 0 : begin,
          o + 1 == dim.output ? dim.input : begin + dim.stride};
}

__device__ Box CellOf(const Pool& pool, const Pixel& y) {
  return {Cell(pool.planes, y.plane), Cell(pool.rows, y.row),
          Cell(pool.columns, y.column)};
}

// Windows do not overlap. A thread looks at a window's x before it writes the
// window's part of dx, and no other thread looks there: dx may be x.
template <int kCount, typename T>
__global__ void DisjointMaxPoolGrad(Pool pool, const T* x, const T* dy, T* dx) {
  const Inputs inputs(pool, kCount);
  const Outputs outputs(pool, kCount);
  ForEachItem(outputs.size(pool.batch), [&](int64_t i) {
    const Pixel window = outputs.PixelAt(i);
    const auto most = FindMaxima<kCount>(pool, window, x);
    const auto pack = PacksOf<kCount>(dy)[i];
    ForEachPixel(CellOf(pool, window), window, [&](const Pixel& pixel) {
      const int64_t at = inputs.At(pixel);
      Pack<T, kCount> result = {};
      for (int k = 0; k < kCount; ++k) {
        if (most.places[k] == at) result.items[k] = pack.items[k];
      }
      PacksOf<kCount>(dx)[at] = result;
    });
  });
}

// A window's maxima are found once for each of its elements: the reads come
// from caches, and no tensor of indices is needed.
template <int kCount, typename T>
__global__ void OverlappingMaxPoolGrad(Pool pool, const T* x, const T* dy,
                                       T* dx) {
  const Inputs inputs(pool, kCount);
  const Outputs outputs(pool, kCount);
  ForEachItem(inputs.size(pool.batch), [&](int64_t i) {
    const Pixel at = inputs.PixelAt(i);
    float sum[kCount] = {};
    ForEachPixel(WindowsOver(pool, at), at, [&](const Pixel& window) {
      const auto most = FindMaxima<kCount>(pool, window, x);
      const auto pack = PacksOf<kCount>(dy)[outputs.At(window)];
      for (int k = 0; k < kCount; ++k) {
        if (most.places[k] == i) sum[k] += Load(pack.items[k]);
      }
    });
    Pack<T, kCount> result;
    for (int k = 0; k < kCount; ++k) result.items[k] = Store<T>(sum[k]);
    PacksOf<kCount>(dx)[i] = result;
  });
}

bool AreDisjoint(const Pool& pool) {
  return pool.planes.stride >= pool.planes.size &&
         pool.rows.stride >= pool.rows.size &&
         pool.columns.stride >= pool.columns.size;
}

}  // namespace

LaunchError MaxPool(StreamHandle stream, const Pool& pool, const void* x,
                    void* y) {
  return ForChannels(pool, [&]<typename T, typename Count>(T, Count) {
    return LaunchOver(Outputs(pool, Count::value), stream,
                      MaxPoolKernel<Count::value, T>, pool,
                      static_cast<const T*>(x), static_cast<T*>(y));
  });
}

LaunchError MaxPoolGrad(StreamHandle stream, const Pool& pool, const void* x,
                        const void* dy, void* dx) {
  return ForChannels(pool, [&]<typename T, typename Count>(T, Count) {
    constexpr int kCount = Count::value;
    const auto* from = static_cast<const T*>(x);
    const auto* gradient = static_cast<const T*>(dy);
    auto* to = static_cast<T*>(dx);
    return AreDisjoint(pool) ? LaunchOver(Outputs(pool, kCount), stream,
                                          DisjointMaxPoolGrad<kCount, T>, pool,
                                          from, gradient, to)
                             : LaunchOver(Inputs(pool, kCount), stream,
                                          OverlappingMaxPoolGrad<kCount, T>,
                                          pool, from, gradient, to);
  });
}

}  // namespace spillway::gpu
