#include "lms/recompute/clonable.h"

#include <fmt/format.h>

#include <vector>

#include "graph/parts.h"
#include "graph/types_of.h"
#include "graph/well_known_ops.h"

namespace spillway {

namespace {

// Whether the node adds channels after the first `end` of its input 0.
bool GrowsAfter(const Graph& graph, const Node& node, int64_t end) {
  if (node.op != kConcatInto) return false;
  const int rank = graph.type(node.outputs[0]).shape.rank();
  const auto axis = node.attributes.GetInt("axis");
  const auto begin = node.attributes.GetInt("begin");
  return axis.ok() && begin.ok() && (*axis == -1 || *axis == rank - 1) &&
         *begin >= end;
}

// The last state of `value` in which channels up to `end` are the same.
ValueId LastState(const Graph& graph, ValueId value, int64_t end) {
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const Use& use : graph.uses(value)) {
      const Node& reader = graph.node(use.node);
      if (use.slot != 0 || !GrowsAfter(graph, reader, end)) continue;
      value = reader.outputs[0];
      has_grown = true;
      break;
    }
  }
  return value;
}

}  // namespace

std::string WhyNotClonable(const Node& node, const OpRegistry& ops) {
  const OpDef* def = ops.Find(node.op);
  if (def == nullptr) {
    return fmt::format("op {} is not registered, so it may have side effects",
                       node.op);
  }
  if (node.op == kPlaceholder) return "it is a feed";
  if (node.op == kSwapOut || node.op == kSwapIn) return "it is a swap";
  if (def->resident) return "its output outlives the step";
  if (node.placement != Placement::kDevice) return "it runs on the host";
  if (!def->mutates.empty()) {
    return fmt::format("op {} overwrites an input", node.op);
  }
  if (def->recompute != RecomputeRule::kSame) {
    return fmt::format("op {} must not run twice", node.op);
  }
  return "";
}

std::optional<DerivedNode> DeriveOutput(const Graph& graph, const Node& node,
                                        int output, const OpRegistry& ops) {
  const OpDef* def = ops.Find(node.op);
  if (def == nullptr || def->recompute != RecomputeRule::kDerive ||
      node.placement != Placement::kDevice) {
    return std::nullopt;
  }
  const std::vector<TensorType> inputs = TypesOf(graph, node.inputs);
  const std::vector<TensorType> outputs = TypesOf(graph, node.outputs);
  return DeriveWithParts(
      *def,
      {.attributes = node.attributes, .inputs = inputs, .outputs = outputs},
      output);
}

std::vector<ValueId> InputsOfDerived(const Graph& graph, const Node& node,
                                     const DerivedNode& derived,
                                     const OpRegistry& ops) {
  std::vector<ValueId> inputs;
  for (const DerivedInput& input : derived.inputs) {
    const std::vector<ValueId>& from =
        input.is_output ? node.outputs : node.inputs;
    inputs.push_back(from[static_cast<size_t>(input.index)]);
  }
  const OpDef* def = ops.Find(derived.op);
  if (def == nullptr) return inputs;
  const auto parts = PartsOf(*def, derived.attributes);
  if (!parts.ok()) return inputs;
  for (const InputPart& part : *parts) {
    ValueId& input = inputs[static_cast<size_t>(part.input)];
    input = LastState(graph, input, part.begin + part.size);
  }
  return inputs;
}

bool IsSameUpTo(const Graph& graph, ValueId value, ValueId later, int64_t end) {
  while (later != value) {
    const Node& maker = graph.producer(later);
    if (!GrowsAfter(graph, maker, end)) return false;
    later = maker.inputs[0];
  }
  return true;
}

}  // namespace spillway
