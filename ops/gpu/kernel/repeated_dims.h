// How up to three operands are repeated over the dimensions of a result.
#ifndef SPILLWAY_OPS_GPU_KERNEL_REPEATED_DIMS_H_
#define SPILLWAY_OPS_GPU_KERNEL_REPEATED_DIMS_H_

#include <cstdint>

namespace spillway::gpu {

// The steps of the operands in a dimension of the result, in elements, are 0
// where they are repeated.
struct RepeatedDim {
  int64_t size = 1;
  int64_t steps[3] = {};
};

inline constexpr int kMaxRepeatedDims = 8;

// Outermost first.
struct RepeatedDims {
  int64_t n = 1;  // elements of the result
  int rank = 1;
  RepeatedDim dims[kMaxRepeatedDims] = {};
};

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_REPEATED_DIMS_H_
