// Equal: y = a == b. Less: y = a < b. LessEqual: y = a <= b. LogicalAnd,
// LogicalOr, LogicalXor: the same for bools a and b. Element by element; a and
// b have one dtype, any (Less and LessEqual: not bool), and are repeated as
// NumPy does (ops/common/broadcast_dims.h). y: bool, of their common shape. NaN
// equals nothing and is less than nothing.
#ifndef SPILLWAY_OPS_CHOICE_COMPARE_H_
#define SPILLWAY_OPS_CHOICE_COMPARE_H_

#include "ops/op.h"

namespace spillway::ops {

Op Equal();
Op Less();
Op LessEqual();
Op LogicalAnd();
Op LogicalOr();
Op LogicalXor();

NewKernel EqualCpu(const KernelRequest& node);
NewKernel LessCpu(const KernelRequest& node);
NewKernel LessEqualCpu(const KernelRequest& node);
NewKernel LogicalAndCpu(const KernelRequest& node);
NewKernel LogicalOrCpu(const KernelRequest& node);
NewKernel LogicalXorCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_CHOICE_COMPARE_H_
