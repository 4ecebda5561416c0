// MatMul, BiasAdd -> MatMul with a bias, and with the BiasAdd's activation.
// The backward phase reads neither the product nor the sum and stays as it is.
//
//   a, b -> MatMul -> BiasAdd -> y      =>      a, b, bias -> MatMul -> y
//
// A product that is kept, or that something else reads too, is left alone. In
// float32 y keeps its bits on a CPU; with a 16-bit y the product is no longer
// rounded before the bias is added (ops/linear/matmul.h).
#ifndef SPILLWAY_GRAPH_PASSES_FUSE_MATMUL_BIAS_H_
#define SPILLWAY_GRAPH_PASSES_FUSE_MATMUL_BIAS_H_

#include "graph/passes/pass.h"

namespace spillway {

void FuseMatMulBias(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_FUSE_MATMUL_BIAS_H_
