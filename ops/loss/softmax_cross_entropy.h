// SparseSoftmaxCrossEntropyWithLogits: for each row of logits[N, C], floating,
// with its class labels[N], int32:
//
//   loss[n] = log(sum of exp(logits[n])) - logits[n, labels[n]]
//   backprop[n, c] = softmax(logits[n])[c] - (c == labels[n])
//
// backprop is d loss[n] / d logits[n, c], made in the forward pass so that
// logits need not be kept; it is of their dtype and may be written over them.
// loss: float32. The gradient is ScaleRows(backprop, d loss).
// Labels are in [0, C). A session refuses others that are fed before the step
// runs; of those that the graph computes the kernel on the CPU returns
// INVALID_ARGUMENT naming the first such row, with nothing written, and the one
// on a GPU makes such rows NaN.
#ifndef SPILLWAY_OPS_LOSS_SOFTMAX_CROSS_ENTROPY_H_
#define SPILLWAY_OPS_LOSS_SOFTMAX_CROSS_ENTROPY_H_

#include "ops/op.h"

namespace spillway::ops {

Op SparseSoftmaxCrossEntropyWithLogits();

NewKernel SparseSoftmaxCrossEntropyWithLogitsCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_LOSS_SOFTMAX_CROSS_ENTROPY_H_
