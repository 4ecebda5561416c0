// Ops that compare predictions of classes. No gradients.
#ifndef SPILLWAY_OPS_LOSS_CLASSIFY_H_
#define SPILLWAY_OPS_LOSS_CLASSIFY_H_

#include "ops/op.h"

namespace spillway::ops {

// ArgMax: the index of the largest element along the dimension `axis`; ties go
// to the lowest index. x: one dimension or more, floating; y: int32, x's shape
// without that dimension. Not differentiable.
Op ArgMax();

NewKernel ArgMaxCpu(const KernelRequest& node);

// InTopK: whether fewer than k of predictions[n] are larger than the prediction
// for class labels[n]. predictions: [N, C], floating; labels: [N], int32; y:
// [N], bool. Attribute k >= 1. False if the label is not in [0, C) or its
// prediction is not finite. Not differentiable.
Op InTopK();

NewKernel InTopKCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_LOSS_CLASSIFY_H_
