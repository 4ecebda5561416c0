// Dropout on the GPU: the numbers of ops/dropout.h, bit for bit as the CPU's.
#ifndef SPILLWAY_OPS_GPU_DROPOUT_H_
#define SPILLWAY_OPS_GPU_DROPOUT_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/launch.h"

namespace spillway::gpu {

struct Dropout {
  uint64_t key = 0;
  int32_t threshold = 0;  // kept from here, in units of UniformFloat, 2^-24
  float scale = 1;        // of what is kept
};

// x, y: n elements of `dtype`, float32 or bfloat16; y may be x.
LaunchError RunDropout(StreamHandle stream, const Dropout& dropout, DType dtype,
                       const void* x, void* y, int64_t n);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_DROPOUT_H_
