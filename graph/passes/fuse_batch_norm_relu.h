// FusedBatchNorm, Relu -> FusedBatchNorm with activation "relu";
// FusedBatchNorm, Add, Relu -> the same with the other summand as its side.
// In the backward phase, ReluGrad goes into FusedBatchNormGrad with it.
//
//   x -> norm -> y0 -> Relu -> y           x -> norm+relu -> y
//                       :           =>           :
//   dx <- norm grad <- ReluGrad <- dy      dx <- norm+relu grad <- dy
//
// The arithmetic of every element is the same; the value between the two and
// its gradient are never made.
#ifndef SPILLWAY_GRAPH_PASSES_FUSE_BATCH_NORM_RELU_H_
#define SPILLWAY_GRAPH_PASSES_FUSE_BATCH_NORM_RELU_H_

#include "graph/passes/pass.h"

namespace spillway {

void FuseBatchNormRelu(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_FUSE_BATCH_NORM_RELU_H_
