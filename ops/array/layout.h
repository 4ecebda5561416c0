// Ops that move elements and compute nothing: each is one or more strided
// copies (ops/common/strided_copy.h), the same on CPU and GPU.
#ifndef SPILLWAY_OPS_ARRAY_LAYOUT_H_
#define SPILLWAY_OPS_ARRAY_LAYOUT_H_

#include <vector>

#include "ops/common/strided_copy.h"
#include "ops/op.h"

namespace spillway::ops {

// Concat: x1, x2, ... one after the other along the dimension `axis`, then
// `room` (0) zeros. Any dtype; all other dimensions equal.
Op Concat();

NewKernel ConcatCpu(const KernelRequest& node);

// From each x to its place in y. Errors: INVALID_ARGUMENT for an attribute of
// another kind or an axis that y does not have.
absl::StatusOr<std::vector<StridedCopy>> ConcatCopies(
    const KernelRequest& node);

// ConcatInto: base with x1, x2, ... one after the other in place of its
// elements from `begin` on along the dimension `axis`. Any dtype; all other
// dimensions equal. No gradient: the pass GrowConcats makes such nodes.
Op ConcatInto();

NewKernel ConcatIntoCpu(const KernelRequest& node);

// From each x to its place in y. Errors: as ConcatCopies.
absl::StatusOr<std::vector<StridedCopy>> ConcatIntoCopies(
    const KernelRequest& node);

// BroadcastTo: x repeated to `shape`, as NumPy does (ops/common/
// broadcast_dims.h). Any dtype; the gradient needs a floating one.
Op BroadcastTo();

NewKernel BroadcastToCpu(const KernelRequest& node);

// From x to y.
StridedCopy BroadcastToCopy(const KernelRequest& node);

// Slice: the box of x that starts at `begin` and has the dimensions `size` (-1:
// up to the end). One entry per dimension. Any dtype.
Op Slice();

NewKernel SliceCpu(const KernelRequest& node);

// From x to y. Errors: INVALID_ARGUMENT for an attribute of another kind.
absl::StatusOr<StridedCopy> SliceCopy(const KernelRequest& node);

// Transpose: dimension i of y is dimension perm[i] of x. Any dtype.
Op Transpose();

NewKernel TransposeCpu(const KernelRequest& node);

// From x to y. Errors: INVALID_ARGUMENT for an attribute of another kind.
absl::StatusOr<StridedCopy> TransposeCopy(const KernelRequest& node);

// Pad: x with `paddings` [[before, after], ...], one pair per dimension, filled
// with `value` (0). Any dtype; a value other than 0 needs a floating one.
Op Pad();

NewKernel PadCpu(const KernelRequest& node);

// From x to its place in y. Errors: INVALID_ARGUMENT for an attribute of
// another kind.
absl::StatusOr<StridedCopy> PadCopy(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_ARRAY_LAYOUT_H_
