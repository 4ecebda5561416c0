// Slice: the box of x that starts at `begin` and has the dimensions `size` (-1:
// up to the end). One entry a dimension. Any dtype.
#ifndef SPILLWAY_OPS_SLICE_H_
#define SPILLWAY_OPS_SLICE_H_

#include "ops/common/strided_copy.h"
#include "ops/op.h"

namespace spillway::ops {

Op Slice();

NewKernel SliceCpu(const KernelRequest& node);

// From x to y. Errors: INVALID_ARGUMENT for an attribute of another kind.
absl::StatusOr<StridedCopy> SliceCopy(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_SLICE_H_
