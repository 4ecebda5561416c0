// ArgMax: the place of the largest element along the dimension `axis`; the
// lowest place of equals. x: one dimension or more, floating; y: int32, x's
// shape without that dimension. Not differentiable.
#ifndef SPILLWAY_OPS_ARG_MAX_H_
#define SPILLWAY_OPS_ARG_MAX_H_

#include "ops/op.h"

namespace spillway::ops {

Op ArgMax();

NewKernel ArgMaxCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_ARG_MAX_H_
