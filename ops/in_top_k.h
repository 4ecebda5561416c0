// InTopK: whether fewer than k of predictions[n] are larger than the one of
// class labels[n]. predictions: [N, C], floating; labels: [N], int32; y: [N],
// bool. Attribute k >= 1. False where the label is not in [0, C) or its
// prediction is not finite. Not differentiable.
#ifndef SPILLWAY_OPS_IN_TOP_K_H_
#define SPILLWAY_OPS_IN_TOP_K_H_

#include "ops/op.h"

namespace spillway::ops {

Op InTopK();

NewKernel InTopKCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_IN_TOP_K_H_
