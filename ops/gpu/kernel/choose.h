// Comparisons and choices on the GPU, of operands that are repeated.
#ifndef SPILLWAY_OPS_GPU_KERNEL_CHOOSE_H_
#define SPILLWAY_OPS_GPU_KERNEL_CHOOSE_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/common/choice_functions.h"
#include "ops/gpu/kernel/repeated_dims.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

// y = test(a, b). a, b: of `dtype`, which is kBool for a test of bools.
LaunchError Compare(StreamHandle stream, choice::Test test, DType dtype,
                    const RepeatedDims& dims, const void* a, const void* b,
                    bool* y);

// y = condition ? a : b, for elements of so many bytes: 1, 2, 4 or 8. y may be
// a or b, if that is not repeated.
LaunchError Select(StreamHandle stream, int64_t element_bytes,
                   const RepeatedDims& dims, const bool* condition,
                   const void* a, const void* b, void* y);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_CHOOSE_H_
