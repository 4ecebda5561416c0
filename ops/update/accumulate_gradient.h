// AccumulateGradient((variable, gradient)..., weights), for each group, whose
// variable is a sum of gradients:
//
//   variable <- weights[0] variable + weights[1] gradient
//
// If weights[0] is 0, what variable held before does not matter, not even NaN.
// So the first gradient of a sum needs no cleared memory. All float32, in
// place; weights: [2], fed or constant, which all groups share.
#ifndef SPILLWAY_OPS_UPDATE_ACCUMULATE_GRADIENT_H_
#define SPILLWAY_OPS_UPDATE_ACCUMULATE_GRADIENT_H_

#include "ops/op.h"

namespace spillway::ops {

Op AccumulateGradient();

NewKernel AccumulateGradientCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_UPDATE_ACCUMULATE_GRADIENT_H_
