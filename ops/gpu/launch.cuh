// Launching kernels, for CUDA sources.
//
// The same sources compile as C++ with SPILLWAY_CUDA_EMULATION (see
// tests/support/cuda_emulation.h), where each thread of a block is a fiber:
// that is how their arithmetic and indices are tested without a GPU. So a
// kernel is never called with <<<>>>, but through Launch, and uses only what
// the emulation has: thread and block indices, __shared__ arrays of a fixed
// size, __syncthreads, and shuffles by all threads of a warp.
#ifndef SPILLWAY_OPS_GPU_LAUNCH_CUH_
#define SPILLWAY_OPS_GPU_LAUNCH_CUH_

#include <cstdint>

#include "ops/gpu/launch.h"

#ifdef SPILLWAY_CUDA_EMULATION
#include "tests/support/cuda_emulation.h"
#else
#include <cuda_runtime.h>
#endif

namespace spillway::gpu {

inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kThreads =
    256;  // of a block, where nothing else is said

// Runs `kernel` on blocks * threads threads. Nothing is launched for no block.
template <typename... Parameters, typename... Arguments>
LaunchError Launch(StreamHandle stream, void (*kernel)(Parameters...),
                   dim3 blocks, dim3 threads, Arguments... arguments) {
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0) return 0;
#ifdef SPILLWAY_CUDA_EMULATION
  cuda_emulation::Launch(stream, blocks, threads,
                         [=] { kernel(arguments...); });
  return 0;
#else
  // clang-format off
  kernel<<<blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(
      arguments...);
  // clang-format on
  return static_cast<LaunchError>(cudaGetLastError());
#endif
}

// Blocks of kThreads threads that each take `each` of n items; at most as many
// as keep any GPU busy, so that kernels loop (see ForEachItem).
inline unsigned BlocksFor(int64_t n, int64_t each = 1) {
  constexpr int64_t kMost = 132 * 16;
  const int64_t items = static_cast<int64_t>(kThreads) * each;
  const int64_t blocks = (n + items - 1) / items;
  return static_cast<unsigned>(blocks < kMost ? blocks : kMost);
}

// The items of this thread of a grid of one dimension.
template <typename Fn>
__device__ void ForEachItem(int64_t n, const Fn& fn) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < n; i += stride) {
    fn(i);
  }
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_LAUNCH_CUH_
