#include "graph/passes/fuse_bias_relu.h"

#include <string>
#include <utility>

namespace spillway {
namespace {

// The BiasAdd whose only reader is `relu`, or null.
const Node* BiasAddOf(const PassContext& context, const Node& relu) {
  const Node& bias_add = context.graph.producer(relu.inputs[0]);
  if (bias_add.op != "BiasAdd") return nullptr;
  const auto activation = bias_add.attributes.GetString("activation", "none");
  if (activation.value_or("") != "none") return nullptr;
  return context.OnlyReader(relu.inputs[0]) == nullptr ? nullptr : &bias_add;
}

}  // namespace

void FuseBiasRelu(const PassContext& context, GraphRewrite& rewrite) {
  for (const Node& relu : context.graph.nodes()) {
    if (relu.op != "Relu") continue;
    const Node* bias_add = BiasAddOf(context, relu);
    if (bias_add == nullptr || !context.CanMerge(*bias_add, relu)) continue;
    NodeSpec fused = SpecOf(context.graph, *bias_add);
    fused.attributes.Set("activation", "relu");
    rewrite.Replace(relu.id, std::move(fused));
    rewrite.Drop(bias_add->id, relu.id);
    rewrite.Redirect(bias_add->outputs[0], {});
  }
}

}  // namespace spillway
