// Transpose: dimension i of y is dimension perm[i] of x. Any dtype.
#ifndef SPILLWAY_OPS_TRANSPOSE_H_
#define SPILLWAY_OPS_TRANSPOSE_H_

#include "ops/common/strided_copy.h"
#include "ops/op.h"

namespace spillway::ops {

Op Transpose();

NewKernel TransposeCpu(const KernelRequest& node);

// From x to y. Errors: INVALID_ARGUMENT for an attribute of another kind.
absl::StatusOr<StridedCopy> TransposeCopy(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_TRANSPOSE_H_
