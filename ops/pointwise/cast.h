// Cast: y = x converted to the attribute dtype. To integers, reals are rounded
// towards zero and clamped to the type's range, and NaN becomes 0; to bool,
// every value except 0 is true. Differentiable between floating types.
#ifndef SPILLWAY_OPS_POINTWISE_CAST_H_
#define SPILLWAY_OPS_POINTWISE_CAST_H_

#include "ops/op.h"

namespace spillway::ops {

Op Cast();

// UNIMPLEMENTED from or to float16.
NewKernel CastCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_POINTWISE_CAST_H_
