// AddN: sum = x1 + x2 + ... + xn, from left to right. All of one type,
// floating. The sum may be written over x1: gradients accumulate in place.
#ifndef SPILLWAY_OPS_POINTWISE_ADD_N_H_
#define SPILLWAY_OPS_POINTWISE_ADD_N_H_

#include "ops/op.h"

namespace spillway::ops {

Op AddN();

NewKernel AddNCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_POINTWISE_ADD_N_H_
