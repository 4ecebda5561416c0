// Activations, element by element. x: any shape, floating. y: as x.
//
//   Relu     y = max(x, 0)               ReluGrad     dx = dy where y > 0
//   Relu6    y = min(max(x, 0), 6)       Relu6Grad    dx = dy where 0 < y < 6
//   Sigmoid  y = 1 / (1 + exp(-x))       SigmoidGrad  dx = dy y (1 - y)
//   Tanh     y = tanh(x)                 TanhGrad     dx = dy (1 - y^2)
//   Elu      y = x > 0 ? x : exp(x) - 1  EluGrad      dx = dy where y > 0,
//                                                     else dy (y + 1)
//
// Gradients read y, not x, so the forward pass may run in place, and x may
// leave the device before the backward pass. A NaN in x stays a NaN in y.
#ifndef SPILLWAY_OPS_POINTWISE_ACTIVATION_H_
#define SPILLWAY_OPS_POINTWISE_ACTIVATION_H_

#include "ops/op.h"

namespace spillway::ops {

Op Elu();
Op EluGrad();
Op Relu();
Op Relu6();
Op Relu6Grad();
Op ReluGrad();
Op Sigmoid();
Op SigmoidGrad();
Op Tanh();
Op TanhGrad();

NewKernel EluCpu(const KernelRequest& node);
NewKernel EluGradCpu(const KernelRequest& node);
NewKernel ReluCpu(const KernelRequest& node);
NewKernel Relu6Cpu(const KernelRequest& node);
NewKernel Relu6GradCpu(const KernelRequest& node);
NewKernel ReluGradCpu(const KernelRequest& node);
NewKernel SigmoidCpu(const KernelRequest& node);
NewKernel SigmoidGradCpu(const KernelRequest& node);
NewKernel TanhCpu(const KernelRequest& node);
NewKernel TanhGradCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_POINTWISE_ACTIVATION_H_
