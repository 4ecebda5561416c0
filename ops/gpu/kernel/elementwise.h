// y[i] = function(x[i]) and y[i] = function(a[i], b[i]) on the GPU. All tensors
// have n elements of `dtype`, float32 or shorter; y may be any of the inputs.
#ifndef SPILLWAY_OPS_GPU_KERNEL_ELEMENTWISE_H_
#define SPILLWAY_OPS_GPU_KERNEL_ELEMENTWISE_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

enum class UnaryFunction { kElu, kRelu, kRelu6, kSigmoid, kTanh };

enum class BinaryFunction {  // of dy and y
  kEluGrad,
  kReluGrad,
  kRelu6Grad,
  kSigmoidGrad,
  kTanhGrad,
};

LaunchError Unary(StreamHandle stream, UnaryFunction function, DType dtype,
                  const void* x, void* y, int64_t n);
LaunchError Binary(StreamHandle stream, BinaryFunction function, DType dtype,
                   const void* a, const void* b, void* y, int64_t n);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_ELEMENTWISE_H_
