#include "graph/passes/accumulate_gradients.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "graph/parts.h"
#include "graph/types_of.h"

namespace spillway {
namespace {

constexpr int kAddend = 2;  // ops/linear/conv.h

bool IsConvInputGradient(const Node& node) {
  return (node.op == "Conv2DBackpropInput" ||
          node.op == "Conv3DBackpropInput") &&
         node.inputs.size() == kAddend;
}

NodeSpec WithAddend(const Graph& graph, const Node& gradient, ValueId addend) {
  NodeSpec spec = SpecOf(graph, gradient);
  spec.inputs.push_back(addend);
  return spec;
}

// Whether the op takes an addend here.
bool AllowsAddend(const PassContext& context, const Node& gradient) {
  const OpDef* def = context.registry.Find(gradient.op);
  if (def == nullptr) return false;
  std::vector<TensorType> inputs = TypesOf(context.graph, gradient.inputs);
  inputs.push_back(context.graph.type(gradient.outputs[0]));
  return InferOutputs(*def, {gradient.attributes, inputs}).ok();
}

// Whether nothing waits for the node; nothing does for most updates.
bool IsLast(const Graph& graph, NodeId id) {
  return graph.control_outputs(id).empty() &&
         std::ranges::all_of(graph.node(id).outputs, [&](ValueId output) {
           return graph.uses(output).empty();
         });
}

// Whether nothing waits for the node but `sum` and nodes for which nothing
// waits. So no path leads from it to another term, and it may wait for any of
// them.
bool OnlySumWaitsFor(const PassContext& context, const Node& node,
                     const Node& sum) {
  const Graph& graph = context.graph;
  return context.OnlyReader(node.outputs[0]) == &sum &&
         node.placement == sum.placement &&
         std::ranges::all_of(graph.control_outputs(node.id), [&](NodeId after) {
           return IsLast(graph, after);
         });
}

// The terms of a sum.
struct Terms {
  std::vector<const Node*> adding;  // by id: can add to the sum of all others
  std::vector<ValueId> others;
};

// The node that runs last of those that compute `values`.
NodeId LastProducer(const Graph& graph, const std::vector<ValueId>& values) {
  NodeId last;
  for (const ValueId value : values) {
    last = std::max(last, graph.producer(value).id);
  }
  return last;
}

// Moves nodes that would hold more bytes while they wait for another term than
// they save.
void LeaveLargeWaiting(const Graph& graph, Terms& terms) {
  const NodeId last = LastProducer(graph, terms.others);
  const auto stays = [&](const Node* node) {
    const int64_t held_bytes = graph.type(node->inputs[1]).num_bytes();
    return node->id < last &&
           held_bytes > graph.type(node->outputs[0]).num_bytes();
  };
  for (const Node* node : terms.adding) {
    if (stays(node)) terms.others.push_back(node->outputs[0]);
  }
  std::erase_if(terms.adding, stays);
}

Terms TermsOf(const PassContext& context, const Node& sum,
              const GraphRewrite& rewrite) {
  Terms terms;
  for (const ValueId term : sum.inputs) {
    const Node& node = context.graph.producer(term);
    if (IsConvInputGradient(node) && !rewrite.touches(node.id) &&
        OnlySumWaitsFor(context, node, sum) && AllowsAddend(context, node)) {
      terms.adding.push_back(&node);
    } else {
      terms.others.push_back(term);
    }
  }
  std::ranges::sort(terms.adding, {}, &Node::id);
  LeaveLargeWaiting(context.graph, terms);
  if (terms.others.empty()) {
    terms.others.push_back(terms.adding.front()->outputs[0]);
    terms.adding.erase(terms.adding.begin());
  }
  return terms;
}

// The sum has no control edges: it may become one of its terms.
void Accumulate(const PassContext& context, const Node& sum,
                GraphRewrite& rewrite) {
  const Graph& graph = context.graph;
  const Terms terms = TermsOf(context, sum, rewrite);
  if (terms.adding.empty()) return;
  const bool sum_stays = terms.others.size() > 1;
  ValueId addend = sum_stays ? sum.outputs[0] : terms.others[0];
  for (const Node* node : terms.adding) {
    rewrite.Replace(node->id, WithAddend(graph, *node, addend));
    addend = node->outputs[0];
  }
  rewrite.Redirect(sum.outputs[0], {.node = terms.adding.back()->id});
  if (sum_stays) {
    NodeSpec rest = SpecOf(graph, sum);
    rest.inputs = terms.others;
    rewrite.Replace(sum.id, std::move(rest));
    rewrite.Connect(terms.adding.front()->id, kAddend, {.node = sum.id});
  } else {
    rewrite.Drop(sum.id);
  }
}

bool HasControlEdges(const Graph& graph, const Node& node) {
  return !node.control_inputs.empty() ||
         !graph.control_outputs(node.id).empty();
}

}  // namespace

void AccumulateGradients(const PassContext& context, GraphRewrite& rewrite) {
  for (const Node& node : context.graph.nodes()) {
    if (node.op == "AddN" && !node.attributes.contains(kParts) &&
        !rewrite.touches(node.id) && !HasControlEdges(context.graph, node)) {
      Accumulate(context, node, rewrite);
    }
  }
}

}  // namespace spillway
