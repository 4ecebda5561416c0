#include "graph/passes/part_readers.h"

#include <cstddef>
#include <vector>

#include "graph/parts.h"
#include "graph/passes/rewrite.h"
#include "graph/well_known_ops.h"

namespace spillway {

int64_t ChannelsOf(const Graph& graph, ValueId value) {
  const Shape& shape = graph.type(value).shape;
  return shape.rank() == 0 ? 1 : shape.dim(-1);
}

bool ConcatenatesChannels(const Graph& graph, const Node& node) {
  if (node.op != kConcat) return false;
  const int rank = graph.type(node.outputs[0]).shape.rank();
  const int64_t axis = node.attributes.GetInt("axis", 0).value_or(0);
  return axis == rank - 1 || axis == -1;
}

bool CanReadPart(const Graph& graph, const OpRegistry& registry, const Use& use,
                 Placement placement) {
  const Node& reader = graph.node(use.node);
  const OpDef* def = registry.Find(reader.op);
  return def != nullptr && reader.placement == placement &&
         MayBePart(*def, static_cast<size_t>(use.slot));
}

std::optional<NodeSpec> WithPlaces(
    const Graph& graph, const OpRegistry& registry, const Node& node,
    const std::function<std::optional<PartPlace>(ValueId)>& place_of) {
  std::vector<std::optional<InputPart>> parts(node.inputs.size());
  for (const InputPart& part : PartsOf(registry, node)) {
    parts[static_cast<size_t>(part.input)] = part;
  }
  NodeSpec spec = SpecOf(graph, node);
  bool has_place = false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const std::optional<PartPlace> place = place_of(node.inputs[i]);
    if (!place) continue;
    has_place = true;
    spec.inputs[i] = place->value;
    if (!parts[i]) parts[i] = {static_cast<int64_t>(i), 0, place->size};
    parts[i]->begin += place->begin;
  }
  if (!has_place) return std::nullopt;
  std::vector<InputPart> all;
  for (const std::optional<InputPart>& part : parts) {
    if (part) all.push_back(*part);
  }
  SetParts(all, spec.attributes);
  return spec;
}

}  // namespace spillway
