// Division of indices for CUDA sources: in 32 bits where both numbers fit, for
// GPUs divide those several times faster.
#ifndef SPILLWAY_OPS_GPU_DIVIDE_CUH_
#define SPILLWAY_OPS_GPU_DIVIDE_CUH_

#include <cstdint>

#include "ops/gpu/launch.cuh"

namespace spillway::gpu {

// a / b, of a >= 0 and b > 0.
__device__ inline int64_t Divide(int64_t a, int64_t b) {
  if (((a | b) >> 32) != 0) return a / b;
  return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
}

// a % b, likewise.
__device__ inline int64_t Remainder(int64_t a, int64_t b) {
  return a - Divide(a, b) * b;
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_DIVIDE_CUH_
