// ApplyRMSProp((variable, mean_square, accumulator, gradient)...,
// learning_rate), for each variable:
//
//   g = gradient_scale gradient + weight_decay variable
//   mean_square <- decay mean_square + (1 - decay) g^2
//   accumulator <- momentum accumulator
//                  + learning_rate g / sqrt(mean_square + epsilon)
//   variable <- variable - accumulator
//
// All float32, in place; learning_rate is a scalar. Attributes: decay (0.9),
// momentum (0), epsilon (1e-10), gradient_scale (1, positive), weight_decay
// (0).
// Source: Tieleman and Hinton, lecture 6.5, 2012, in TensorFlow's form.
#ifndef SPILLWAY_OPS_RMS_PROP_UPDATE_H_
#define SPILLWAY_OPS_RMS_PROP_UPDATE_H_

#include "ops/op.h"

namespace spillway::ops {

Op ApplyRMSProp();

NewKernel ApplyRMSPropCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_RMS_PROP_UPDATE_H_
