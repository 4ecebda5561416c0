#include "graph/passes/fuse_matmul_bias.h"

#include <cstddef>
#include <utility>

namespace spillway {
namespace {

constexpr size_t kInputsWithoutBias = 2;  // see ops/linear/matmul.h

// The MatMul whose only reader is `bias_add`, or null.
const Node* MatMulOf(const PassContext& context, const Node& bias_add) {
  const Node& product = context.graph.producer(bias_add.inputs[0]);
  const bool can_fuse = product.op == "MatMul" &&
                        product.inputs.size() == kInputsWithoutBias &&
                        !product.attributes.contains("activation") &&
                        context.OnlyReader(bias_add.inputs[0]) != nullptr;
  return can_fuse ? &product : nullptr;
}

NodeSpec Fused(const Graph& graph, const Node& product, const Node& bias_add) {
  NodeSpec fused = SpecOf(graph, product);
  fused.inputs.push_back(bias_add.inputs[1]);
  const AttributeValue* activation = bias_add.attributes.Find("activation");
  if (activation != nullptr) fused.attributes.Set("activation", *activation);
  return fused;
}

}  // namespace

void FuseMatMulBias(const PassContext& context, GraphRewrite& rewrite) {
  for (const Node& bias_add : context.graph.nodes()) {
    if (bias_add.op != "BiasAdd") continue;
    const Node* product = MatMulOf(context, bias_add);
    if (product == nullptr || !context.CanMerge(*product, bias_add)) continue;
    rewrite.Replace(bias_add.id, Fused(context.graph, *product, bias_add));
    rewrite.Drop(product->id, bias_add.id);
    rewrite.Redirect(product->outputs[0], {});
  }
}

}  // namespace spillway
