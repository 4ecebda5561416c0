// Add: y = a + b. Sub: y = a - b. Mul: y = a * b. RealDiv: y = a / b; element
// by element. a, b: floating, of one dtype, repeated as NumPy does
// (ops/common/broadcast_dims.h). y: their common shape; may be written over an
// operand of that shape.
#ifndef SPILLWAY_OPS_POINTWISE_ADD_H_
#define SPILLWAY_OPS_POINTWISE_ADD_H_

#include "ops/op.h"

namespace spillway::ops {

Op Add();
Op Mul();
Op RealDiv();
Op Sub();

NewKernel AddCpu(const KernelRequest& node);
NewKernel MulCpu(const KernelRequest& node);
NewKernel RealDivCpu(const KernelRequest& node);
NewKernel SubCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_POINTWISE_ADD_H_
