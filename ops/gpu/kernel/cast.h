// Casts on the GPU, by the rules of ops/pointwise/cast.h.
#ifndef SPILLWAY_OPS_GPU_KERNEL_CAST_H_
#define SPILLWAY_OPS_GPU_KERNEL_CAST_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

// A cast of n elements.
struct Cast {
  DType from = DType::kFloat32;
  DType to = DType::kFloat32;
  int64_t n = 0;
};

LaunchError RunCast(StreamHandle stream, const Cast& cast, const void* x,
                    void* y);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_CAST_H_
