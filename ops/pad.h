// Pad: x with `paddings` [[before, after], ...], one pair a dimension, filled
// with `value` (0). Any dtype; a value other than 0 needs a floating one.
#ifndef SPILLWAY_OPS_PAD_H_
#define SPILLWAY_OPS_PAD_H_

#include "ops/common/strided_copy.h"
#include "ops/op.h"

namespace spillway::ops {

Op Pad();

NewKernel PadCpu(const KernelRequest& node);

// From x to its place in y. Errors: INVALID_ARGUMENT for an attribute of
// another kind.
absl::StatusOr<StridedCopy> PadCopy(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_PAD_H_
