#include <limits>

#include "ops/gpu/kernel/classify.h"
#include "ops/gpu/thread/divide.cuh"
#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {
namespace {

constexpr unsigned kAllLanes = 0xFFFF'FFFF;

// Every thread of a warp calls fn(row, lane) for each row.
template <typename Fn>
__device__ void ForEachRowOfWarp(int64_t rows, const Fn& fn) {
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (kThreads / kWarp);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (kThreads / kWarp) +
                        threadIdx.x / kWarp;
  for (int64_t row = first; row < rows; row += warps) {
    fn(row, threadIdx.x % kWarp);
  }
}

unsigned BlocksForRows(int64_t rows) { return BlocksFor(rows * kWarp); }

// A NaN in the first place wins, as no value is larger; elsewhere a NaN is
// never larger than another value.
struct Largest {
  float value = -std::numeric_limits<float>::infinity();
  int64_t place = std::numeric_limits<int64_t>::max();

  __device__ void Meet(float x, int64_t at) {
    const bool is_nan = x != x;
    if (is_nan && at > 0) return;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    Take({is_nan ? kInfinity : x, at});
  }
  __device__ void Take(const Largest& other) {
    if (other.value < value) return;
    if (other.value == value && other.place >= place) return;
    *this = other;
  }
};

// inner == 1: a warp for each row.
template <typename T>
__global__ void ArgMaxOfRows(ArgMax arg_max, const T* x, int32_t* y) {
  const int64_t n = arg_max.n;
  ForEachRowOfWarp(arg_max.outer, [&](int64_t row, unsigned lane) {
    Largest largest;
    for (int64_t i = lane; i < n; i += kWarp) {
      largest.Meet(Load(x[row * n + i]), i);
    }
    for (unsigned mask = kWarp / 2; mask > 0; mask /= 2) {
      largest.Take({__shfl_xor_sync(kAllLanes, largest.value, mask),
                    __shfl_xor_sync(kAllLanes, largest.place, mask)});
    }
    if (lane == 0) y[row] = static_cast<int32_t>(largest.place);
  });
}

// inner > 1: a thread for each element of y; adjacent threads read adjacent
// elements.
template <typename T>
__global__ void ArgMaxOfColumns(ArgMax arg_max, const T* x, int32_t* y) {
  const int64_t inner = arg_max.inner;
  ForEachItem(arg_max.outer * inner, [&](int64_t i) {
    const int64_t slice = Divide(i, inner);
    const T* column = x + slice * arg_max.n * inner + (i - slice * inner);
    Largest largest;
    for (int64_t k = 0; k < arg_max.n; ++k) {
      largest.Meet(Load(column[k * inner]), k);
    }
    y[i] = static_cast<int32_t>(largest.place);
  });
}

template <typename T>
__global__ void InTopKKernel(InTopK in_top_k, const T* predictions,
                             const int32_t* labels, bool* y) {
  const int64_t classes = in_top_k.classes;
  ForEachRowOfWarp(in_top_k.rows, [&](int64_t row, unsigned lane) {
    const T* of_row = predictions + row * classes;
    const int32_t label = labels[row];
    const bool is_class = label >= 0 && label < classes;
    const float target = Load(of_row[is_class ? label : 0]);
    int64_t larger = 0;
    for (int64_t i = lane; i < classes; i += kWarp) {
      larger += Load(of_row[i]) > target ? 1 : 0;
    }
    for (unsigned mask = kWarp / 2; mask > 0; mask /= 2) {
      larger += __shfl_xor_sync(kAllLanes, larger, mask);
    }
    const bool is_finite = target - target == 0;
    if (lane == 0) y[row] = is_class && is_finite && larger < in_top_k.k;
  });
}

}  // namespace

LaunchError RunArgMax(StreamHandle stream, const ArgMax& arg_max, const void* x,
                      void* y) {
  return ForStorage(arg_max.dtype, [&]<typename T>(T) {
    const T* values = static_cast<const T*>(x);
    int32_t* places = static_cast<int32_t*>(y);
    if (arg_max.inner == 1) {
      return Launch(stream, ArgMaxOfRows<T>, dim3(BlocksForRows(arg_max.outer)),
                    dim3(kThreads), arg_max, values, places);
    }
    return Launch(stream, ArgMaxOfColumns<T>,
                  dim3(BlocksFor(arg_max.outer * arg_max.inner)),
                  dim3(kThreads), arg_max, values, places);
  });
}

LaunchError RunInTopK(StreamHandle stream, const InTopK& in_top_k,
                      const void* predictions, const void* labels, void* y) {
  return ForStorage(in_top_k.dtype, [&]<typename T>(T) {
    return Launch(stream, InTopKKernel<T>, dim3(BlocksForRows(in_top_k.rows)),
                  dim3(kThreads), in_top_k, static_cast<const T*>(predictions),
                  static_cast<const int32_t*>(labels), static_cast<bool*>(y));
  });
}

}  // namespace spillway::gpu
