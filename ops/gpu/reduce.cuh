// Sums and maxima over the threads of a warp or a block, for CUDA sources. All
// threads that take part get the result; the order is the same in every run.
#ifndef SPILLWAY_OPS_GPU_REDUCE_CUH_
#define SPILLWAY_OPS_GPU_REDUCE_CUH_

#include <cstdint>

#include "ops/gpu/launch.cuh"

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

// Over the lanes that are the same modulo `width`, a power of two up to kWarp.
template <typename T, typename Fn>
__device__ T WarpReduce(T mine, unsigned width, Fn fn) {
  for (unsigned step = width; step < kWarp; step *= 2) {
    mine = fn(mine, __shfl_xor_sync(0xFFFFFFFF, mine, step));
  }
  return mine;
}

// Over the threads of a block of kThreads that are the same modulo `width`, a
// power of two up to kWarp. All threads of the block take part.
template <typename T, typename Fn>
__device__ T BlockReduce(T mine, unsigned width, Fn fn) {
  __shared__ T of_warps[kThreads];
  of_warps[threadIdx.x] = WarpReduce(mine, width, fn);
  __syncthreads();
  T all = of_warps[threadIdx.x % width];
  for (unsigned lane = kWarp; lane < kThreads; lane += kWarp) {
    all = fn(all, of_warps[lane + threadIdx.x % width]);
  }
  __syncthreads();  // before the next call writes
  return all;
}

// Who shares a row: the threads of a warp, or of a block.
struct WarpOfRow {
  static constexpr unsigned kSize = kWarp;
  template <typename T, typename Fn>
  __device__ static T Reduce(T mine, Fn fn) {
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

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_REDUCE_CUH_
