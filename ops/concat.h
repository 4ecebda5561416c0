// Concat: x1, x2, ... one after the other along the dimension `axis`. Any
// dtype; all other dimensions equal.
#ifndef SPILLWAY_OPS_CONCAT_H_
#define SPILLWAY_OPS_CONCAT_H_

#include <vector>

#include "ops/common/strided_copy.h"
#include "ops/op.h"

namespace spillway::ops {

Op Concat();

NewKernel ConcatCpu(const KernelRequest& node);

// From each x to its place in y. Errors: INVALID_ARGUMENT for an attribute of
// another kind or an axis that y has not.
absl::StatusOr<std::vector<StridedCopy>> ConcatCopies(
    const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_CONCAT_H_
