// BiasAdd, Relu -> BiasAdd with activation "relu". The backward phase reads
// only the activated value and is unchanged.
#ifndef SPILLWAY_GRAPH_PASSES_FUSE_BIAS_RELU_H_
#define SPILLWAY_GRAPH_PASSES_FUSE_BIAS_RELU_H_

#include "graph/passes/pass.h"

namespace spillway {

void FuseBiasRelu(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_FUSE_BIAS_RELU_H_
