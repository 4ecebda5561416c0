#include "graph/json_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/status_macros.h"
#include "graph/node_name.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

absl::Status FieldError(std::string_view field, std::string_view message) {
  return InvalidArgument(fmt::format("field '{}': {}", field, message));
}

absl::Status WrongKind(std::string_view field, std::string_view expected,
                       const Json& json) {
  return FieldError(field, fmt::format("expected {}, not {}", expected,
                                       std::string_view(json.type_name())));
}

// Null if the field is absent.
const Json* Find(const Json& object, std::string_view field) {
  const auto it = object.find(std::string(field));
  return it == object.end() ? nullptr : &*it;
}

bool IsInt64(const Json& json) {
  return json.is_number_integer() &&
         (!json.is_number_unsigned() ||
          std::in_range<int64_t>(json.get<uint64_t>()));
}

// Nests no deeper than ParseJson allows.
absl::StatusOr<AttributeValue> ToAttribute(const Json& json) {
  if (json.is_null()) return AttributeValue();
  if (json.is_boolean()) return AttributeValue(json.get<bool>());
  if (json.is_string()) return AttributeValue(json.get<std::string>());
  if (json.is_number_float()) return AttributeValue(json.get<double>());
  if (json.is_number()) {
    if (IsInt64(json)) return AttributeValue(json.get<int64_t>());
    return InvalidArgument(
        fmt::format("{} does not fit 64 bits", json.get<uint64_t>()));
  }
  if (json.is_array()) {
    AttributeValue::List list;
    for (const Json& item : json) {
      SPILLWAY_ASSIGN_OR_RETURN(AttributeValue value, ToAttribute(item));
      list.push_back(std::move(value));
    }
    return AttributeValue(std::move(list));
  }
  AttributeValue::Object object;
  for (const auto& [key, item] : json.items()) {
    SPILLWAY_ASSIGN_OR_RETURN(AttributeValue value, ToAttribute(item));
    object.emplace(key, std::move(value));
  }
  return AttributeValue(std::move(object));
}

Json ToJson(const AttributeValue& value);

struct ToJsonVisitor {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(const AttributeValue::List& list) const {
    Json json = Json::array();
    for (const AttributeValue& item : list) json.push_back(ToJson(item));
    return json;
  }
  Json operator()(const AttributeValue::Object& object) const {
    Json json = Json::object();
    for (const auto& [key, item] : object) json[key] = ToJson(item);
    return json;
  }
  template <typename Scalar>
  Json operator()(const Scalar& scalar) const {
    return scalar;
  }
};

Json ToJson(const AttributeValue& value) {
  return std::visit(ToJsonVisitor(), value.variant());
}

absl::StatusOr<Attributes> ParseAttributes(const Json& node) {
  Attributes attributes;
  const Json* json = Find(node, "attrs");
  if (json == nullptr) return attributes;
  if (!json->is_object()) return WrongKind("attrs", "an object", *json);
  for (const auto& [name, item] : json->items()) {
    absl::StatusOr<AttributeValue> value = ToAttribute(item);
    if (!value.ok()) {
      return Annotate(value.status(),
                      fmt::format("field 'attrs': attribute {:?}", name));
    }
    attributes.Set(name, *std::move(value));
  }
  return attributes;
}

absl::StatusOr<std::vector<std::string>> ParseTexts(const Json& node,
                                                    std::string_view field) {
  std::vector<std::string> texts;
  const Json* json = Find(node, field);
  if (json == nullptr) return texts;
  if (!json->is_array()) return WrongKind(field, "a list of names", *json);
  for (const Json& item : *json) {
    if (!item.is_string()) return WrongKind(field, "names in the list", item);
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

absl::StatusOr<TensorType> ParseType(const Json& json) {
  if (!json.is_object()) {
    return InvalidArgument(
        R"(expected {"dtype": ..., "shape": [...]} for each output)");
  }
  constexpr std::array<std::string_view, 2> kFields = {"dtype", "shape"};
  SPILLWAY_RETURN_IF_ERROR(CheckFieldNames(json, kFields));
  SPILLWAY_ASSIGN_OR_RETURN(const std::string dtype_name,
                            GetTextField(json, "dtype"));
  const std::optional<DType> dtype = ParseDType(dtype_name);
  if (!dtype.has_value()) {
    return FieldError("dtype", fmt::format("no such dtype: {:?}", dtype_name));
  }
  const Json* dims = Find(json, "shape");
  if (dims == nullptr) return FieldError("shape", "is missing");
  if (!dims->is_array()) return WrongKind("shape", "a list", *dims);
  std::vector<int64_t> sizes;
  for (const Json& dim : *dims) {
    if (!IsInt64(dim)) {
      return FieldError("shape", "dimensions must be 64-bit integers");
    }
    sizes.push_back(dim.get<int64_t>());
  }
  TensorType type = {.dtype = *dtype, .shape = Shape(std::move(sizes))};
  SPILLWAY_RETURN_IF_ERROR(Annotate(CheckShape(type.shape), "field 'shape'"));
  return type;
}

absl::StatusOr<std::optional<std::vector<TensorType>>> ParseOutputs(
    const Json& node) {
  const Json* json = Find(node, "outputs");
  if (json == nullptr) return std::nullopt;
  if (!json->is_array()) return WrongKind("outputs", "a list", *json);
  std::vector<TensorType> types;
  for (const Json& item : *json) {
    absl::StatusOr<TensorType> type = ParseType(item);
    if (!type.ok()) {
      return Annotate(type.status(),
                      fmt::format("field 'outputs', item {}", types.size()));
    }
    types.push_back(*std::move(type));
  }
  return types;
}

absl::StatusOr<Placement> ParsePlacement(const Json& node) {
  if (Find(node, "device") == nullptr) return Placement::kDevice;
  SPILLWAY_ASSIGN_OR_RETURN(const std::string text,
                            GetTextField(node, "device"));
  if (text == "device") return Placement::kDevice;
  if (text == "host") return Placement::kHost;
  return FieldError(
      "device", fmt::format("expected \"device\" or \"host\", not {:?}", text));
}

absl::StatusOr<double> ParseNumber(const Json& object, std::string_view field) {
  const Json* json = Find(object, field);
  if (json == nullptr) return 0.0;
  if (!json->is_number()) return WrongKind(field, "a number", *json);
  return json->get<double>();
}

// Ranges are checked by VerifyGraph.
absl::StatusOr<std::optional<StatedCost>> ParseCost(const Json& node) {
  const Json* json = Find(node, "cost");
  if (json == nullptr) return std::nullopt;
  if (!json->is_object()) return WrongKind("cost", "an object", *json);
  constexpr std::array<std::string_view, 4> kFields = {
      "flops", "bytes", "workspace_bytes", "time_us"};
  SPILLWAY_RETURN_IF_ERROR(
      Annotate(CheckFieldNames(*json, kFields), "field 'cost'"));
  StatedCost cost;
  SPILLWAY_ASSIGN_OR_RETURN(cost.flops, ParseNumber(*json, "flops"));
  SPILLWAY_ASSIGN_OR_RETURN(cost.bytes, ParseNumber(*json, "bytes"));
  SPILLWAY_ASSIGN_OR_RETURN(cost.time_us, ParseNumber(*json, "time_us"));
  if (const Json* workspace = Find(*json, "workspace_bytes")) {
    if (!IsInt64(*workspace)) {
      return FieldError("workspace_bytes", "must be a 64-bit integer");
    }
    cost.workspace_bytes = workspace->get<int64_t>();
  }
  return cost;
}

Json FormatOutputs(const Graph& graph, const Node& node) {
  Json outputs = Json::array();
  for (const ValueId output : node.outputs) {
    const TensorType& type = graph.type(output);
    outputs.push_back({{"dtype", std::string(DTypeName(type.dtype))},
                       {"shape", type.shape.dims()}});
  }
  return outputs;
}

}  // namespace

absl::Status CheckFieldNames(const Json& json,
                             std::span<const std::string_view> known) {
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::find(known, key) == known.end()) {
      return InvalidArgument(fmt::format("unknown field {:?}; known are: {}",
                                         key, fmt::join(known, ", ")));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> GetTextField(const Json& json,
                                         std::string_view name) {
  const Json* field = Find(json, name);
  if (field == nullptr) return FieldError(name, "is missing");
  if (!field->is_string()) return WrongKind(name, "text", *field);
  return field->get<std::string>();
}

absl::StatusOr<NodeEntry> ParseNodeEntry(const Json& json) {
  constexpr std::array<std::string_view, 8> kFields = {
      "name",   "op",    "inputs",  "control_inputs",
      "device", "attrs", "outputs", "cost"};
  SPILLWAY_RETURN_IF_ERROR(CheckFieldNames(json, kFields));
  NodeEntry entry;
  SPILLWAY_ASSIGN_OR_RETURN(entry.name, GetTextField(json, "name"));
  SPILLWAY_RETURN_IF_ERROR(Annotate(CheckNodeName(entry.name), "field 'name'"));
  SPILLWAY_ASSIGN_OR_RETURN(entry.op, GetTextField(json, "op"));
  if (entry.op.empty()) return FieldError("op", "is empty");
  SPILLWAY_ASSIGN_OR_RETURN(entry.inputs, ParseTexts(json, "inputs"));
  SPILLWAY_ASSIGN_OR_RETURN(entry.control_inputs,
                            ParseTexts(json, "control_inputs"));
  SPILLWAY_ASSIGN_OR_RETURN(entry.placement, ParsePlacement(json));
  SPILLWAY_ASSIGN_OR_RETURN(entry.attributes, ParseAttributes(json));
  SPILLWAY_ASSIGN_OR_RETURN(entry.outputs, ParseOutputs(json));
  SPILLWAY_ASSIGN_OR_RETURN(entry.cost, ParseCost(json));
  return entry;
}

Json FormatNodeEntry(const Graph& graph, const Node& node) {
  Json json;
  json["name"] = node.name;
  json["op"] = node.op;
  json["inputs"] = Json::array();
  for (const ValueId input : node.inputs) {
    json["inputs"].push_back(graph.ValueName(input));
  }
  for (const NodeId before : node.control_inputs) {
    json["control_inputs"].push_back(graph.node(before).name);
  }
  if (node.placement == Placement::kHost) json["device"] = "host";
  for (const auto& [name, value] : node.attributes.items()) {
    json["attrs"][name] = ToJson(value);
  }
  json["outputs"] = FormatOutputs(graph, node);
  if (node.cost.has_value()) {
    json["cost"] = {{"flops", node.cost->flops},
                    {"bytes", node.cost->bytes},
                    {"workspace_bytes", node.cost->workspace_bytes},
                    {"time_us", node.cost->time_us}};
  }
  return json;
}

}  // namespace spillway
