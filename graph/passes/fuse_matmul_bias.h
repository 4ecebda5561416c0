// MatMul, BiasAdd -> MatMul with a bias, and with the BiasAdd's activation. The
// backward phase reads neither the product nor the sum and is unchanged.
//
//   a, b -> MatMul -> BiasAdd -> y      =>      a, b, bias -> MatMul -> y
//
// Left alone: a product that is kept or that has another reader. In float32 y
// is bitwise identical on a CPU; with a 16-bit y the product is no longer
// rounded before the bias is added (ops/linear/matmul.h).
#ifndef SPILLWAY_GRAPH_PASSES_FUSE_MATMUL_BIAS_H_
#define SPILLWAY_GRAPH_PASSES_FUSE_MATMUL_BIAS_H_

#include "graph/passes/pass.h"

namespace spillway {

void FuseMatMulBias(const PassContext& context, GraphRewrite& rewrite);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_PASSES_FUSE_MATMUL_BIAS_H_
