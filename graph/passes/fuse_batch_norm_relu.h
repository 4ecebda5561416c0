// FusedBatchNorm, Relu -> FusedBatchNorm with activation "relu";
// FusedBatchNorm, Relu6 -> the same with "relu6";
// FusedBatchNorm, Add, Relu -> the same with the other summand as its side
// input. In the backward phase, ReluGrad is fused into FusedBatchNormGrad.
//
//   x -> norm -> y0 -> Relu -> y           x -> norm+relu -> y
//                       :           =>           :
//   dx <- norm grad <- ReluGrad <- dy      dx <- norm+relu grad <- dy
//
// The arithmetic of every element is unchanged; the value between the two nodes
// and its gradient no longer exist.
#ifndef SPILLWAY_GRAPH_PASSES_FUSE_BATCH_NORM_RELU_H_
#define SPILLWAY_GRAPH_PASSES_FUSE_BATCH_NORM_RELU_H_

#include "graph/passes/pass.h"

namespace spillway {

void FuseBatchNormRelu(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_FUSE_BATCH_NORM_RELU_H_
