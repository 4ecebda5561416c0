// Arithmetic of integers on the GPU, of operands that are repeated.
#ifndef SPILLWAY_OPS_GPU_KERNEL_INTEGERS_H_
#define SPILLWAY_OPS_GPU_KERNEL_INTEGERS_H_

#include "graph/dtype.h"
#include "ops/common/integer_functions.h"
#include "ops/gpu/kernel/repeated_dims.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

// y = function(a, b), all of `dtype`, which is kInt32 or kInt64. y may be a or
// b, if that is not repeated.
LaunchError ComputeIntegers(StreamHandle stream, integer::Function function,
                            DType dtype, const RepeatedDims& dims,
                            const void* a, const void* b, void* y);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_INTEGERS_H_
