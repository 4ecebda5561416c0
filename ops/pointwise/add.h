// Add: y = a + b. Sub: y = a - b. Mul: y = a * b. Element by element; a: any
// shape, floating. b: as a, or a scalar, or [C] where C is a's last dimension.
// y: as a, and may be written over it.
#ifndef SPILLWAY_OPS_POINTWISE_ADD_H_
#define SPILLWAY_OPS_POINTWISE_ADD_H_

#include "ops/op.h"

namespace spillway::ops {

Op Add();
Op Mul();
Op Sub();

NewKernel AddCpu(const KernelRequest& node);
NewKernel MulCpu(const KernelRequest& node);
NewKernel SubCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_POINTWISE_ADD_H_
