// Transpose: dimension i of y is dimension perm[i] of x. Any dtype.
#ifndef SPILLWAY_OPS_TRANSPOSE_H_
#define SPILLWAY_OPS_TRANSPOSE_H_

#include "ops/op.h"

namespace spillway::ops {

Op Transpose();

NewKernel TransposeCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_TRANSPOSE_H_
