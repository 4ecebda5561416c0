// ApplyGradientDescent((variable, gradient)..., learning_rate), for each
// variable:
//
//   g = gradient_scale gradient + weight_decay variable
//   variable <- variable - learning_rate g
//
// All float32, in place; learning_rate is a scalar. Attributes: gradient_scale
// (1, positive), weight_decay (0).
#ifndef SPILLWAY_OPS_GRADIENT_DESCENT_UPDATE_H_
#define SPILLWAY_OPS_GRADIENT_DESCENT_UPDATE_H_

#include "ops/op.h"

namespace spillway::ops {

Op ApplyGradientDescent();

NewKernel ApplyGradientDescentCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_GRADIENT_DESCENT_UPDATE_H_
