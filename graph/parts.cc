#include "graph/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"
#include "graph/types_of.h"

namespace spillway {
namespace {

// The type of channels [begin, begin + size) of `whole`.
TensorType TypeOfPart(const TensorType& whole, int64_t size) {
  std::vector<int64_t> dims = whole.shape.dims();
  dims.back() = size;
  return {.dtype = whole.dtype, .shape = Shape(std::move(dims))};
}

absl::Status CheckPart(const OpDef& def, const InputPart& part,
                       std::span<const TensorType> inputs) {
  const auto input = static_cast<size_t>(part.input);
  if (part.input < 0 || input >= inputs.size() || !MayBePart(def, input)) {
    return InvalidArgument(
        fmt::format("attribute 'parts': input {} of {} "
                    "cannot be a part",
                    part.input, def.name));
  }
  const Shape& shape = inputs[input].shape;
  if (shape.rank() > 0 && part.begin >= 0 && part.size > 0 &&
      part.begin <= shape.dim(-1) && part.size <= shape.dim(-1) - part.begin) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      fmt::format("attribute 'parts': {} channels from {} on are not inside "
                  "input {}, {}",
                  part.size, part.begin, part.input, shape.ToString()));
}

}  // namespace

bool MayBePart(const OpDef& def, size_t input) {
  if (def.variadic) input = std::min(input, def.inputs.size() - 1);
  return std::ranges::count(def.part_inputs, static_cast<int>(input)) > 0;
}

absl::StatusOr<std::vector<InputPart>> PartsOf(const OpDef& def,
                                               const Attributes& attributes) {
  std::vector<InputPart> parts;
  if (def.part_inputs.empty() || !attributes.contains(kParts)) return parts;
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<std::vector<int64_t>> lists,
                            attributes.GetIntLists(kParts));
  for (const std::vector<int64_t>& list : lists) {
    if (list.size() != 3) {
      return InvalidArgument(fmt::format(
          "attribute 'parts' lists [input, begin, size]; one has {} numbers",
          list.size()));
    }
    parts.push_back({.input = list[0], .begin = list[1], .size = list[2]});
  }
  return parts;
}

std::vector<InputPart> PartsOf(const OpRegistry& ops, const Node& node) {
  const OpDef* def = ops.Find(node.op);
  if (def == nullptr) return {};
  return PartsOf(*def, node.attributes).value_or(std::vector<InputPart>());
}

void SetParts(std::span<const InputPart> parts, Attributes& attributes) {
  AttributeValue::List lists;
  for (const InputPart& part : parts) {
    lists.push_back({part.input, part.begin, part.size});
  }
  attributes.Set(kParts, std::move(lists));
}

absl::StatusOr<std::vector<TensorType>> WithParts(
    const OpDef& def, const Attributes& attributes,
    std::span<const TensorType> inputs) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<InputPart> parts,
                            PartsOf(def, attributes));
  std::vector<TensorType> types(inputs.begin(), inputs.end());
  int64_t last = -1;
  for (const InputPart& part : parts) {
    if (part.input <= last) {
      return InvalidArgument("attribute 'parts' is not in order of inputs");
    }
    last = part.input;
    SPILLWAY_RETURN_IF_ERROR(CheckPart(def, part, inputs));
    TensorType& type = types[static_cast<size_t>(part.input)];
    type = TypeOfPart(type, part.size);
  }
  return types;
}

std::vector<TensorType> InputTypesOf(const Graph& graph, const Node& node,
                                     const OpDef* def) {
  std::vector<TensorType> types = TypesOf(graph, node.inputs);
  if (def == nullptr || def->part_inputs.empty()) return types;
  auto parts = WithParts(*def, node.attributes, types);
  SPILLWAY_CHECK(parts.ok());
  return *std::move(parts);
}

std::optional<DerivedNode> DeriveWithParts(const OpDef& def,
                                           const OpContext& node, int output) {
  const auto types = WithParts(def, node.attributes, node.inputs);
  const auto parts = PartsOf(def, node.attributes);
  if (!types.ok() || !parts.ok()) return std::nullopt;
  std::optional<DerivedNode> derived =
      def.derive({.attributes = node.attributes,
                  .inputs = *types,
                  .outputs = node.outputs},
                 output);
  if (!derived) return std::nullopt;
  std::vector<InputPart> kept;
  for (size_t i = 0; i < derived->inputs.size(); ++i) {
    const DerivedInput& input = derived->inputs[i];
    const auto part = std::ranges::find(*parts, input.index, &InputPart::input);
    if (input.is_output || part == parts->end()) continue;
    kept.push_back({.input = static_cast<int64_t>(i),
                    .begin = part->begin,
                    .size = part->size});
  }
  if (!kept.empty()) SetParts(kept, derived->attributes);
  return derived;
}

}  // namespace spillway
