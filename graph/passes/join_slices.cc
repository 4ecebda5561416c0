#include "graph/passes/join_slices.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// What a Pad node puts where in its result.
struct Part {
  const Node* pad = nullptr;
  int64_t axis = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

// Nullopt unless `node` pads one axis with zeros.
std::optional<Part> PartOf(const Graph& graph, const Node& node) {
  if (node.op != "Pad" ||
      node.attributes.GetReal("value", 0).value_or(1) != 0) {
    return std::nullopt;
  }
  const auto paddings = node.attributes.GetIntLists("paddings");
  if (!paddings.ok()) return std::nullopt;
  std::optional<Part> part;
  for (size_t axis = 0; axis < paddings->size(); ++axis) {
    const std::vector<int64_t>& padding = paddings->at(axis);
    if (padding == std::vector<int64_t>{0, 0}) continue;
    if (part.has_value()) return std::nullopt;
    const Shape& size = graph.type(node.inputs[0]).shape;
    part = Part{.pad = &node,
                .axis = static_cast<int64_t>(axis),
                .begin = padding[0],
                .end = padding[0] + size.dims()[axis]};
  }
  return part;
}

// The parts of the sum `add` in the order of their places; empty unless they
// cover it, each element once.
std::vector<Part> PartsOf(const PassContext& context, const Node& add) {
  std::vector<Part> parts;
  for (const ValueId input : add.inputs) {
    const Node& node = context.graph.producer(input);
    const std::optional<Part> part = PartOf(context.graph, node);
    if (!part.has_value() || context.OnlyReader(input) == nullptr ||
        !context.CanMerge(node, add)) {
      return {};
    }
    parts.push_back(*part);
  }
  std::ranges::sort(parts, {}, &Part::begin);
  const int64_t axis = parts.front().axis;
  const Shape& sum = context.graph.type(add.outputs[0]).shape;
  int64_t end = 0;
  for (const Part& part : parts) {
    if (part.axis != axis || part.begin != end) return {};
    end = part.end;
  }
  return end == sum.dims()[static_cast<size_t>(axis)] ? parts
                                                      : std::vector<Part>();
}

}  // namespace

void JoinSlices(const PassContext& context, GraphRewrite& rewrite) {
  for (const Node& add : context.graph.nodes()) {
    if (add.op != "AddN") continue;
    const std::vector<Part> parts = PartsOf(context, add);
    if (parts.empty()) continue;
    NodeSpec joined = SpecOf(context.graph, add);
    joined.op = kConcat;
    joined.inputs.clear();
    joined.attributes = {{"axis", parts.front().axis}};
    for (const Part& part : parts) {
      joined.inputs.push_back(part.pad->inputs[0]);
      rewrite.Drop(part.pad->id, add.id);
      rewrite.Redirect(part.pad->outputs[0], {});
    }
    rewrite.Replace(add.id, std::move(joined));
  }
}

}  // namespace spillway
