// The ops that update variables in place, one for each optimizer. Each takes
// groups of inputs, one for each variable (ops/common/update.h). Every update
// is in float32 and begins with
//
//   g = gradient_scale gradient + weight_decay variable
#ifndef SPILLWAY_OPS_UPDATE_OPTIMIZER_UPDATES_H_
#define SPILLWAY_OPS_UPDATE_OPTIMIZER_UPDATES_H_

#include "ops/op.h"

namespace spillway::ops {

// ApplyGradientDescent((variable, gradient)..., learning_rate), for each
// variable:
//
//   g = gradient_scale gradient + weight_decay variable
//   variable <- variable - learning_rate g
//
// All float32, in place; learning_rate is a scalar. Attributes: gradient_scale
// (1, positive), weight_decay (0).
Op ApplyGradientDescent();

NewKernel ApplyGradientDescentCpu(const KernelRequest& node);

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
Op ApplyMomentum();

NewKernel ApplyMomentumCpu(const KernelRequest& node);

// ApplyVelocity((variable, velocity, gradient)..., learning_rate), for each
// variable:
//
//   g = gradient_scale gradient + weight_decay variable
//   old = velocity
//   velocity <- momentum velocity - learning_rate g
//   variable <- variable + velocity
//   with use_nesterov: variable <- variable - momentum old
//                                           + (1 + momentum) velocity
//
// The velocity contains the rate of each of its updates, unlike the accumulator
// of ApplyMomentum: the ops differ when the rate changes. All float32, in
// place; learning_rate is a scalar. Attributes: momentum (0.9), use_nesterov
// (false), gradient_scale (1, positive), weight_decay (0).
// Source: Sutskever et al., ICML 2013, equations 1 to 4, where the variable is
// the point at which the gradient is taken (Bengio et al., ICASSP 2013, section
// 3.5).
Op ApplyVelocity();

NewKernel ApplyVelocityCpu(const KernelRequest& node);

// ApplyLars((variable, velocity, gradient)..., learning_rate), for each
// variable, with |x| for the square root of the sum of squares:
//
//   scaled = gradient_scale gradient
//   g = scaled + weight_decay variable
//   ratio, with form "corrected":
//     eta |variable| / (|scaled| + weight_decay |variable| + epsilon), or 1 if
//     |variable| or |scaled| is 0
//   ratio, with form "lbsgd", clamped to [0.01, 100]:
//     sqrt(|variable|^2 / (|scaled|^2 + weight_decay |variable|^2 + 1e-18))
//   velocity <- momentum velocity - learning_rate ratio g
//   variable <- variable + velocity
//
// All float32, in place; the sums of squares are in double, in an order that
// depends on the variable's size only; learning_rate is a scalar. Attributes:
// momentum (0.9), eta (0.001), epsilon (1e-8), form ("corrected"),
// gradient_scale (1, positive), weight_decay (0). The form "lbsgd" ignores eta
// and epsilon.
// Source: You, Gitman and Ginsburg, Large batch training of convolutional
// networks, arXiv 1708.03888, algorithm 1, as the optimizer LARS of MXNet 1.6
// computes it; the form "lbsgd" as the optimizer LBSGD of MXNet 1.2 does.
Op ApplyLars();

NewKernel ApplyLarsCpu(const KernelRequest& node);

// ApplyAdagrad((variable, accumulator, gradient)..., learning_rate), for each
// variable:
//
//   g = gradient_scale gradient + weight_decay variable
//   accumulator <- accumulator + g^2
//   variable <- variable - learning_rate g / (sqrt(accumulator) + epsilon)
//
// All float32, in place; learning_rate is a scalar. Attributes: epsilon (1e-6),
// gradient_scale (1, positive), weight_decay (0).
// Source: Duchi, Hazan and Singer, JMLR 12 (2011), the diagonal form, with
// SystemML's epsilon.
Op ApplyAdagrad();

NewKernel ApplyAdagradCpu(const KernelRequest& node);

// ApplyAdam((variable, m, v, beta_power, gradient)..., learning_rate), for each
// variable:
//
//   g = gradient_scale gradient + weight_decay variable
//   variable <- variable - learning_rate decoupled_weight_decay variable
//   beta_power <- [beta1, beta2] beta_power      (ones before the first update)
//   m <- beta1 m + (1 - beta1) g
//   v <- beta2 v + (1 - beta2) g^2
//   rate = learning_rate sqrt(1 - beta_power[1]) / (1 - beta_power[0])
//   variable <- variable - rate m / (sqrt(v) + epsilon)
//
// All float32, in place; beta_power is a variable of two elements, so that a
// checkpoint resumes; learning_rate is a scalar. Attributes: beta1 (0.9), beta2
// (0.999), epsilon (1e-8), decoupled_weight_decay (0), gradient_scale (1,
// positive), weight_decay (0).
// Source: Kingma and Ba, ICLR 2015, the form before section 2.1; for the
// decoupled decay Loshchilov and Hutter, ICLR 2019, algorithm 2.
Op ApplyAdam();

NewKernel ApplyAdamCpu(const KernelRequest& node);

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
Op ApplyRMSProp();

NewKernel ApplyRMSPropCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_UPDATE_OPTIMIZER_UPDATES_H_
