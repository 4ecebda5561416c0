// Concat: x1, x2, ... one after the other along the dimension `axis`. Any
// dtype; all other dimensions equal.
#ifndef SPILLWAY_OPS_CONCAT_H_
#define SPILLWAY_OPS_CONCAT_H_

#include "ops/op.h"

namespace spillway::ops {

Op Concat();

NewKernel ConcatCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_CONCAT_H_
