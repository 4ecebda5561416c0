// y = function(a, b) on the GPU, where b may be repeated over a. y may be a,
// and may be b if b has as many elements.
#ifndef SPILLWAY_OPS_GPU_KERNEL_BROADCAST_H_
#define SPILLWAY_OPS_GPU_KERNEL_BROADCAST_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/kernel/repeated_dims.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

enum class BroadcastFunction {
  kAdd,
  kAddRelu,  // max(a + b, 0)
  kDivide,
  kGreaterShare,
  kMaximum,
  kMinimum,
  kMultiply,
  kPower,
  kSubtract,
};

// What b has one element for.
enum class OneFor { kElement, kRow, kColumn, kAll };

// a and y: [rows, columns] of `dtype`; b of `b_dtype`. Each dtype is float32 or
// the same shorter one; they are equal if b has one element for each element or
// for all.
struct Broadcast {
  BroadcastFunction function = BroadcastFunction::kAdd;
  OneFor b_has_one_for = OneFor::kElement;
  DType dtype = DType::kFloat32;
  DType b_dtype = DType::kFloat32;
  int64_t rows = 1;
  int64_t columns = 1;
};

LaunchError RunBroadcast(StreamHandle stream, const Broadcast& broadcast,
                         const void* a, const void* b, void* y);

// Operands that are repeated in any dimensions.
LaunchError RunRepeatedBroadcast(StreamHandle stream,
                                 BroadcastFunction function, DType dtype,
                                 const RepeatedDims& dims, const void* a,
                                 const void* b, void* y);

// y = factor * x, for n elements.
LaunchError Scale(StreamHandle stream, DType dtype, float factor, const void* x,
                  void* y, int64_t n);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_BROADCAST_H_
