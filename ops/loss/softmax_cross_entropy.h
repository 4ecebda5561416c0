// SparseSoftmaxCrossEntropyWithLogits: for each row of logits[N, C], floating,
// with its class labels[N], int32:
//
//   loss[n] = log(sum of exp(logits[n])) - logits[n, labels[n]]
//   backprop[n, c] = softmax(logits[n])[c] - (c == labels[n])
//
// backprop is d loss[n] / d logits[n, c], computed in the forward pass so that
// logits need not be kept; it has their dtype and may be written over them.
// loss: float32. The gradient is ScaleRows(backprop, d loss). Labels must be in
// [0, C). A session refuses invalid labels in feeds before the step runs. For
// invalid labels that the graph computes, the CPU kernel returns
// INVALID_ARGUMENT naming the first such row and writes nothing; the GPU kernel
// makes such rows NaN.
#ifndef SPILLWAY_OPS_LOSS_SOFTMAX_CROSS_ENTROPY_H_
#define SPILLWAY_OPS_LOSS_SOFTMAX_CROSS_ENTROPY_H_

#include "ops/op.h"

namespace spillway::ops {

Op SparseSoftmaxCrossEntropyWithLogits();

NewKernel SparseSoftmaxCrossEntropyWithLogitsCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_LOSS_SOFTMAX_CROSS_ENTROPY_H_
