// The functions of ops/common/unary_functions.h on the GPU. All tensors have n
// elements of `dtype`, float32 or shorter; the result may be any of the inputs.
#ifndef SPILLWAY_OPS_GPU_KERNEL_UNARY_H_
#define SPILLWAY_OPS_GPU_KERNEL_UNARY_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/common/unary_functions.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

// y = f(x).
LaunchError RunUnary(StreamHandle stream, PointwiseFunction function,
                     UnaryParameters parameters, DType dtype, const void* x,
                     void* y, int64_t n);

// dx = dy f'(x).
LaunchError RunUnaryGrad(StreamHandle stream, PointwiseFunction function,
                         UnaryParameters parameters, DType dtype,
                         const void* dy, const void* x, void* dx, int64_t n);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_UNARY_H_
