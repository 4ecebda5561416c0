// Functions that exporters write as many nodes, as one node again: each kept
// value of such a chain would be an activation more.
//
//   LayerNormalization   ReduceMean, Sub, Pow or Mul, ReduceMean, Add, Sqrt,
//                        Div, Mul and Add (opsets before 17)
//   Gelu                 x (1 + erf(x / sqrt 2)) / 2, and its approximation by
//                        tanh, in any order of factors (before 20)
//   Swish                x sigmoid(x) (before 24)
//   Mish, HardSwish      x tanh(softplus(x)), x times a HardSigmoid (before 18,
//                        14)
//   MatMulBias           MatMul by an initializer and Add of one, a vector; no
//                        op of the standard
#ifndef SPILLWAY_ONNX_MODEL_CONVERT_FUSE_DECOMPOSED_H_
#define SPILLWAY_ONNX_MODEL_CONVERT_FUSE_DECOMPOSED_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace spillway::onnx_model {

struct FusedNodes {
  std::vector<const onnx::NodeProto*> nodes = {};
  int64_t num_fused = 0;  // nodes that `made` stands for
  std::deque<onnx::NodeProto> made = {};
};

// `nodes`, which are those of `graph`, inlined and sorted, with each such chain
// replaced where its last node is. A chain counts only if no one else reads its
// values. Both are borrowed.
FusedNodes FuseDecomposed(std::span<const onnx::NodeProto* const> nodes,
                          const onnx::GraphProto& graph);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_CONVERT_FUSE_DECOMPOSED_H_
