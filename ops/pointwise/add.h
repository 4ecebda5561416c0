// Add: y = a + b. Sub: y = a - b. Mul: y = a * b. RealDiv: y = a / b. Maximum,
// Minimum: the larger or smaller one, NaN if one is; equal ones share the
// gradient. Pow: y = a ^ b; the gradient of b takes the logarithm of an a <= 0
// for that of the least positive normal number. GreaterShare: 1 where a > b,
// 0.5 where they are equal, else 0; no gradient. Element by element. a, b:
// floating, of one dtype, repeated as NumPy does (ops/common/broadcast_dims.h).
// y: their common shape; may be written over an operand of that shape.
//
// Add, Sub and Mul are also for int32 and int64, without a gradient; they wrap
// around. TruncateDiv: y = a / b of those, without its fraction; 0 where b is
// 0.
#ifndef SPILLWAY_OPS_POINTWISE_ADD_H_
#define SPILLWAY_OPS_POINTWISE_ADD_H_

#include "ops/op.h"

namespace spillway::ops {

Op Add();
Op GreaterShare();
Op Maximum();
Op Minimum();
Op Mul();
Op Pow();
Op RealDiv();
Op Sub();
Op TruncateDiv();

NewKernel AddCpu(const KernelRequest& node);
NewKernel GreaterShareCpu(const KernelRequest& node);
NewKernel MaximumCpu(const KernelRequest& node);
NewKernel MinimumCpu(const KernelRequest& node);
NewKernel MulCpu(const KernelRequest& node);
NewKernel PowCpu(const KernelRequest& node);
NewKernel RealDivCpu(const KernelRequest& node);
NewKernel SubCpu(const KernelRequest& node);
NewKernel TruncateDivCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_POINTWISE_ADD_H_
