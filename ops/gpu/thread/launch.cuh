// Launching kernels, for CUDA sources.
//
// The same sources compile as C++ if SPILLWAY_CUDA_EMULATION names a header
// that defines CUDA's names. The tests' emulation runs each thread of a block
// as a fiber, so that arithmetic and indices are tested without a GPU
// (docs/cuda.md). So call a kernel only through Launch, never with <<<>>>, and
// use only what the emulation has: thread and block indices, __shared__ arrays
// of a fixed size, __syncthreads, __syncwarp, and shuffles by all threads of a
// warp.
#ifndef SPILLWAY_OPS_GPU_THREAD_LAUNCH_CUH_
#define SPILLWAY_OPS_GPU_THREAD_LAUNCH_CUH_

#include <cstdint>

#include "ops/gpu/thread/launch.h"

#ifdef SPILLWAY_CUDA_EMULATION
#include SPILLWAY_CUDA_EMULATION
#else
#include <cuda_runtime.h>
#endif

namespace spillway::gpu {

inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kThreads =
    256;  // of a block, unless a launch says otherwise

// Runs `kernel` on blocks * threads threads. A no-op for zero blocks.
template <typename... Parameters, typename... Arguments>
LaunchError Launch(StreamHandle stream, void (*kernel)(Parameters...),
                   dim3 blocks, dim3 threads, Arguments... arguments) {
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return 0;
#ifdef SPILLWAY_CUDA_EMULATION
  cuda_emulation::Launch(stream, blocks, threads,
                         [=] { kernel(arguments...); });
  return 0;
#else
  // Unlike <<<>>>, this returns the result of this launch, not an error that
  // some library left behind as the last error.
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = static_cast<cudaStream_t>(stream);
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...);
  if (error != cudaSuccess) cudaGetLastError();  // do not leave one either
  return static_cast<LaunchError>(error);
#endif
}

// Number of blocks of kThreads threads that each take `each` of n items. Many
// more than run at once, so that a GPU is busy to the end; kernels loop over
// the remaining items (see ForEachItem).
inline unsigned BlocksFor(int64_t n, int64_t each = 1) {
  constexpr int64_t kMost = 1 << 16;
  const int64_t items = static_cast<int64_t>(kThreads) * each;
  const int64_t blocks = (n + items - 1) / items;
  return static_cast<unsigned>(blocks < kMost ? blocks : kMost);
}

// Calls use(i, load(i)) for i = begin, begin + step, ... before end, in this
// order. Loads kBatch items, a power of two, before it uses the first of them:
// memory latency is so high that one load at a time does not use its bandwidth.
template <int kBatch, typename Index, typename LoadFn, typename UseFn>
__device__ void ForEachLoaded(Index begin, Index end, Index step,
                              const LoadFn& load, const UseFn& use) {
  Index i = begin;
  for (; i + (kBatch - 1) * step < end; i += kBatch * step) {
    decltype(load(i)) loaded[kBatch];
    for (int k = 0; k < kBatch; ++k) loaded[k] = load(i + k * step);
    for (int k = 0; k < kBatch; ++k) use(i + k * step, loaded[k]);
  }
  if constexpr (kBatch > 1) ForEachLoaded<kBatch / 2>(i, end, step, load, use);
}

// Calls fn(i) for the items of this thread of a grid of one dimension.
template <typename Fn>
__device__ void ForEachItem(int64_t n, const Fn& fn) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < n; i += stride) {
    fn(i);
  }
}

// Calls use(i, load(i)) for the same items; see ForEachLoaded.
template <int kBatch, typename LoadFn, typename UseFn>
__device__ void ForEachItem(int64_t n, const LoadFn& load, const UseFn& use) {
  ForEachLoaded<kBatch>(
      static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x, n,
      static_cast<int64_t>(gridDim.x) * blockDim.x, load, use);
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_THREAD_LAUNCH_CUH_
