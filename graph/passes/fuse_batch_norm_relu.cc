#include "graph/passes/fuse_batch_norm_relu.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spillway {
namespace {

// Slots and outputs of the two ops (ops/normalization/batch_norm.h).
constexpr size_t kInputsWithoutSide = 5;
constexpr int kSavedMean = 1;
constexpr int kSavedInvStd = 2;
constexpr size_t kGradInputs = 6;  // dy, x, scale, offset, and what was saved
constexpr int kSideGradient = 3;

// An activation that FusedBatchNorm can compute.
struct Fusible {
  std::string_view op;
  std::string_view gradient;
  const char* attribute = "";
};

constexpr Fusible kFusible[] = {
    {.op = "Relu", .gradient = "ReluGrad", .attribute = "relu"},
    {.op = "Relu6", .gradient = "Relu6Grad", .attribute = "relu6"}};

// Null for all other ops.
const Fusible* FusibleOf(const Node& node) {
  for (const Fusible& fusible : kFusible) {
    if (node.op == fusible.op) return &fusible;
  }
  return nullptr;
}

// The nodes of one match. `relu` is a Relu or a Relu6. `relu_grad` and
// `norm_grad` are both null in a graph without a backward phase.
struct Chain {
  const Fusible* activation = nullptr;
  const Node* norm = nullptr;
  const Node* add = nullptr;  // null: no sum before the activation
  ValueId side = {};          // invalid: none
  const Node* relu = nullptr;
  const Node* relu_grad = nullptr;
  const Node* norm_grad = nullptr;
};

bool IsPlainNorm(const Node& node) {
  return node.op == "FusedBatchNorm" &&
         node.attributes.GetString("activation", "none").value_or("") == "none";
}

// The norm that produces `value`, or null unless `value` has exactly one
// reader.
const Node* NormOf(const PassContext& context, ValueId value) {
  const Node& node = context.graph.producer(value);
  const bool is_norm = IsPlainNorm(node) && node.outputs[0] == value;
  return is_norm && context.OnlyReader(value) != nullptr ? &node : nullptr;
}

void MatchSum(const PassContext& context, const Node& add, Chain& chain) {
  const Graph& graph = context.graph;
  if (graph.type(add.inputs[0]) != graph.type(add.inputs[1])) return;
  if (context.OnlyReader(add.outputs[0]) == nullptr) return;
  for (const size_t slot : {size_t{0}, size_t{1}}) {
    const Node* norm = NormOf(context, add.inputs[slot]);
    if (norm == nullptr || norm->inputs.size() != kInputsWithoutSide) continue;
    chain.norm = norm;
    chain.add = &add;
    chain.side = add.inputs[1 - slot];
    return;
  }
}

// The forward part that ends in `relu`; `norm` is null if it does not match.
Chain MatchForward(const PassContext& context, const Fusible& activation,
                   const Node& relu) {
  Chain chain = {.activation = &activation, .relu = &relu};
  const Node& before = context.graph.producer(relu.inputs[0]);
  if (before.op == "Add") {
    MatchSum(context, before, chain);
    return chain;
  }
  chain.norm = NormOf(context, relu.inputs[0]);
  if (chain.norm != nullptr && chain.norm->inputs.size() > kInputsWithoutSide) {
    chain.side = chain.norm->inputs[kInputsWithoutSide];
  }
  return chain;
}

// Whether `grad` is the gradient of `norm` without a side or an activation.
bool IsGradOf(const Node& grad, const Node& norm) {
  return grad.op == "FusedBatchNormGrad" && grad.inputs.size() == kGradInputs &&
         grad.inputs[1] == norm.inputs[0] && grad.inputs[2] == norm.inputs[1] &&
         grad.inputs[3] == norm.inputs[2] &&
         grad.inputs[4] == norm.outputs[kSavedMean] &&
         grad.inputs[5] == norm.outputs[kSavedInvStd];
}

// Completes the chain with its backward part. False if it does not match.
bool MatchBackward(const PassContext& context, Chain& chain) {
  const Graph& graph = context.graph;
  for (const Use& use : graph.uses(chain.relu->outputs[0])) {
    const Node& reader = graph.node(use.node);
    if (reader.op != chain.activation->gradient || use.slot != 1) continue;
    if (chain.relu_grad != nullptr) return false;
    chain.relu_grad = &reader;
  }
  for (const int saved : {kSavedMean, kSavedInvStd}) {
    const ValueId value = chain.norm->outputs[static_cast<size_t>(saved)];
    if (context.is_kept(value)) return false;
    for (const Use& use : graph.uses(value)) {
      const Node& reader = graph.node(use.node);
      const bool is_other =
          chain.norm_grad != nullptr && chain.norm_grad != &reader;
      if (is_other || !IsGradOf(reader, *chain.norm)) return false;
      chain.norm_grad = &reader;
    }
  }
  if (chain.relu_grad == nullptr) return chain.norm_grad == nullptr;
  const ValueId gradient = chain.relu_grad->outputs[0];
  if (chain.norm_grad == nullptr || chain.norm_grad->inputs[0] != gradient) {
    return false;
  }
  return chain.side.is_valid() || context.OnlyReader(gradient) != nullptr;
}

bool CanFuse(const PassContext& context, const Chain& chain) {
  if (!context.CanMerge(*chain.norm, *chain.relu)) return false;
  const bool is_add_free =
      chain.add == nullptr ||
      (chain.add->placement == chain.norm->placement &&
       chain.add->control_inputs.empty() &&
       context.graph.control_outputs(chain.add->id).empty());
  if (!is_add_free) return false;
  return chain.relu_grad == nullptr ||
         context.CanMerge(*chain.relu_grad, *chain.norm_grad);
}

NodeSpec WithActivation(const Graph& graph, const Chain& chain,
                        const Node& node) {
  NodeSpec spec = SpecOf(graph, node);
  spec.attributes.Set("activation", chain.activation->attribute);
  return spec;
}

void FuseForward(const PassContext& context, const Chain& chain,
                 GraphRewrite& rewrite) {
  NodeSpec fused = WithActivation(context.graph, chain, *chain.norm);
  if (chain.add != nullptr) fused.inputs.push_back(chain.side);
  const NodeId place = chain.relu->id;
  rewrite.Replace(place, std::move(fused));
  rewrite.Drop(chain.norm->id, place);
  rewrite.Redirect(chain.norm->outputs[0], {});
  for (const int saved : {kSavedMean, kSavedInvStd}) {
    rewrite.Redirect(chain.norm->outputs[static_cast<size_t>(saved)],
                     {.node = place, .index = saved});
  }
  if (chain.add != nullptr) rewrite.Drop(chain.add->id, place);
}

// The mask comes from x; with a side, which x does not include, from y.
void FuseBackward(const PassContext& context, const Chain& chain,
                  GraphRewrite& rewrite) {
  const Node& grad = *chain.norm_grad;
  const NodeId place = chain.relu_grad->id;
  const ValueId masked = chain.relu_grad->outputs[0];
  NodeSpec fused = WithActivation(context.graph, chain, grad);
  fused.inputs[0] = chain.relu_grad->inputs[0];
  if (chain.side.is_valid()) {
    fused.inputs.push_back(chain.relu->outputs[0]);
    fused.outputs.push_back(context.graph.type(masked));
    rewrite.Redirect(masked, {.node = place, .index = kSideGradient});
  } else {
    rewrite.Redirect(masked, {});
  }
  rewrite.Replace(place, std::move(fused));
  rewrite.Drop(grad.id, place);
  for (size_t i = 0; i < grad.outputs.size(); ++i) {
    rewrite.Redirect(grad.outputs[i],
                     {.node = place, .index = static_cast<int>(i)});
  }
}

}  // namespace

void FuseBatchNormRelu(const PassContext& context, GraphRewrite& rewrite) {
  for (const Node& node : context.graph.nodes()) {
    const Fusible* activation = FusibleOf(node);
    if (activation == nullptr) continue;
    Chain chain = MatchForward(context, *activation, node);
    if (chain.norm == nullptr || rewrite.touches(chain.norm->id) ||
        !MatchBackward(context, chain) || !CanFuse(context, chain)) {
      continue;
    }
    FuseForward(context, chain, rewrite);
    if (chain.relu_grad != nullptr) FuseBackward(context, chain, rewrite);
  }
}

}  // namespace spillway
