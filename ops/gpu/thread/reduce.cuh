// Sums and maxima over the threads of a warp or a block, for CUDA sources. All
// participating threads get the result; the order is the same in every run.
#ifndef SPILLWAY_OPS_GPU_THREAD_REDUCE_CUH_
#define SPILLWAY_OPS_GPU_THREAD_REDUCE_CUH_

#include <cstdint>

#include "ops/gpu/thread/launch.cuh"
#include "ops/gpu/thread/pack.cuh"

namespace spillway::gpu {

struct Plus {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

struct Most {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// Reduces over the lanes that are equal modulo `width`, a power of two up to
// kWarp.
template <typename T, typename Fn>
__device__ T WarpReduce(T mine, unsigned width, Fn fn) {
  for (unsigned step = width; step < kWarp; step *= 2) {
    mine = fn(mine, __shfl_xor_sync(0xFFFFFFFF, mine, step));
  }
  return mine;
}

// Reduces each of the kCount numbers over the threads of a block of kThreads
// that are equal modulo `width`, a power of two up to kWarp. All threads of the
// block must take part.
template <int kCount, typename T, typename Fn>
__device__ void BlockReduce(T (&mine)[kCount], unsigned width, Fn fn) {
  __shared__ Pack<T, kCount> of_warps[kThreads];
  Pack<T, kCount> of_warp;
  for (int k = 0; k < kCount; ++k) {
    of_warp.items[k] = WarpReduce(mine[k], width, fn);
  }
  of_warps[threadIdx.x] = of_warp;
  __syncthreads();
  Pack<T, kCount> all = of_warps[threadIdx.x % width];
  for (unsigned lane = kWarp; lane < kThreads; lane += kWarp) {
    const Pack<T, kCount> next = of_warps[lane + threadIdx.x % width];
    for (int k = 0; k < kCount; ++k) {
      all.items[k] = fn(all.items[k], next.items[k]);
    }
  }
  for (int k = 0; k < kCount; ++k) mine[k] = all.items[k];
  __syncthreads();  // before the next call writes
}

template <typename T, typename Fn>
__device__ T BlockReduce(T mine, unsigned width, Fn fn) {
  T one[1] = {mine};
  BlockReduce(one, width, fn);
  return one[0];
}

// The threads that share a row: those of a warp, or of a block. An element that
// one of them has read before Reduce may be overwritten by another after it.
struct WarpOfRow {
  static constexpr unsigned kSize = kWarp;
  template <typename T, typename Fn>
  __device__ static T Reduce(T mine, Fn fn) {
    __syncwarp();  // shuffles do not order memory
    return WarpReduce(mine, 1, fn);
  }
};
struct BlockOfRow {
  static constexpr unsigned kSize = kThreads;
  template <typename T, typename Fn>
  __device__ static T Reduce(T mine, Fn fn) {
    return BlockReduce(mine, 1, fn);
  }
};

// The rows of this thread's warp or block, in a grid of one dimension and
// blocks of kThreads.
template <typename Group, typename Fn>
__device__ void ForEachRow(int64_t rows, const Fn& fn) {
  constexpr unsigned kEach = kThreads / Group::kSize;
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * kEach +
                     threadIdx.x / Group::kSize;
       row < rows; row += static_cast<int64_t>(gridDim.x) * kEach) {
    fn(row);
  }
}

// Calls fn(i) for the thread's items of such a row of `n` items.
template <typename Group, typename Fn>
__device__ void ForEachOfRow(int64_t n, const Fn& fn) {
  for (int64_t i = threadIdx.x % Group::kSize; i < n; i += Group::kSize) fn(i);
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_THREAD_REDUCE_CUH_
