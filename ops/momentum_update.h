// ApplyMomentum((variable, accumulator, gradient)..., learning_rate), for each
// variable:
//
//   g = gradient_scale gradient + weight_decay variable
//   accumulator <- momentum accumulator + g
//   variable <- variable - learning_rate accumulator
//   with use_nesterov: variable <- variable - learning_rate
//                                             (g + momentum accumulator)
//
// All float32, in place; learning_rate is a scalar. Attributes: momentum (0.9),
// use_nesterov (false), gradient_scale (1, positive), weight_decay (0).
// Source: Sutskever et al., ICML 2013, in TensorFlow's form.
#ifndef SPILLWAY_OPS_MOMENTUM_UPDATE_H_
#define SPILLWAY_OPS_MOMENTUM_UPDATE_H_

#include "ops/op.h"

namespace spillway::ops {

Op ApplyMomentum();

NewKernel ApplyMomentumCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_MOMENTUM_UPDATE_H_
