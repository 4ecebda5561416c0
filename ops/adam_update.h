// ApplyAdam((variable, m, v, beta_power, gradient)..., learning_rate), for each
// variable:
//
//   g = gradient_scale gradient + weight_decay variable
//   beta_power <- [beta1, beta2] beta_power      (ones before the first update)
//   m <- beta1 m + (1 - beta1) g
//   v <- beta2 v + (1 - beta2) g^2
//   rate = learning_rate sqrt(1 - beta_power[1]) / (1 - beta_power[0])
//   variable <- variable - rate m / (sqrt(v) + epsilon)
//
// All float32, in place; beta_power is a variable of two elements, so that a
// checkpoint resumes; learning_rate is a scalar. Attributes: beta1 (0.9), beta2
// (0.999), epsilon (1e-8), gradient_scale (1, positive), weight_decay (0).
// Source: Kingma and Ba, ICLR 2015, the form before section 2.1.
#ifndef SPILLWAY_OPS_ADAM_UPDATE_H_
#define SPILLWAY_OPS_ADAM_UPDATE_H_

#include "ops/op.h"

namespace spillway::ops {

Op ApplyAdam();

NewKernel ApplyAdamCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_ADAM_UPDATE_H_
