// y = x1 + x2 + ... + xn, from left to right, on the GPU. All have `dtype`,
// float32, bfloat16 or float16; y may be any of the first kMostTerms terms.
#ifndef SPILLWAY_OPS_GPU_KERNEL_ADD_N_H_
#define SPILLWAY_OPS_GPU_KERNEL_ADD_N_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

// Terms per launch. For a longer sum, partial sums are stored in y, in its
// dtype.
inline constexpr int kMostTerms = 64;

struct Terms {
  const void* x[kMostTerms] = {};
  int count = 0;
};

LaunchError AddN(StreamHandle stream, DType dtype, const Terms& terms, void* y,
                 int64_t n);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_ADD_N_H_
