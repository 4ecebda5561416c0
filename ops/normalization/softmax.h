// Softmax: y[..., c] = exp(x[..., c]) / sum of exp(x[...]) over the last axis,
// computed from x minus its row's maximum. x: one dimension or more, floating;
// y: as x, and may be written over it. SoftmaxGrad: dx = (dy - sum of dy y over
// the last axis) y.
#ifndef SPILLWAY_OPS_NORMALIZATION_SOFTMAX_H_
#define SPILLWAY_OPS_NORMALIZATION_SOFTMAX_H_

#include "ops/op.h"

namespace spillway::ops {

Op Softmax();
Op SoftmaxGrad();

NewKernel SoftmaxCpu(const KernelRequest& node);
NewKernel SoftmaxGradCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_NORMALIZATION_SOFTMAX_H_
