#include "graph/format/json_nodes.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_object.h"
#include "base/status_macros.h"
#include "graph/node_name.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

// The nesting depth is limited by ParseJson.
absl::StatusOr<AttributeValue> ToAttribute(const Json& json) {
  if (json.is_null()) return AttributeValue();
  if (json.is_boolean()) return AttributeValue(json.get<bool>());
  if (json.is_string()) return AttributeValue(json.get<std::string>());
  if (json.is_number_float()) return AttributeValue(json.get<double>());
  if (json.is_number()) {
    if (const auto value = ToInteger(json)) return AttributeValue(*value);
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

Attributes ReadAttributes(JsonObject fields) {
  AttributeValue::Object items;
  for (const std::string_view name : fields.names()) {
    absl::StatusOr<AttributeValue> value = ToAttribute(fields.Field(name));
    fields.Check(name, value.status());
    if (value.ok())
      items.insert_or_assign(std::string(name), *std::move(value));
  }
  return Attributes(std::move(items));
}

TensorType ReadType(JsonObject& type) {
  const std::optional<DType> dtype = ParseDType(type.Text("dtype"));
  if (!dtype) type.MustBe("dtype", "the name of a dtype");
  Shape shape(type.Integers("shape"));
  type.Check("shape", CheckShape(shape));
  type.RefuseOtherFields();
  return {.dtype = dtype.value_or(DType()), .shape = std::move(shape)};
}

std::vector<TensorType> ReadOutputs(JsonObject& node) {
  std::vector<TensorType> types;
  for (JsonObject type : node.Objects("outputs")) {
    types.push_back(ReadType(type));
  }
  return types;
}

Placement ReadPlacement(JsonObject& node) {
  const std::string& text = node.Text("device");
  if (text == "host") return Placement::kHost;
  if (text != "device") node.MustBe("device", "\"device\" or \"host\"");
  return Placement::kDevice;
}

// Ranges are checked by VerifyGraph.
StatedCost ReadCost(JsonObject fields) {
  StatedCost cost;
  if (fields.Has("flops")) cost.flops = fields.Number("flops");
  if (fields.Has("bytes")) cost.bytes = fields.Number("bytes");
  if (fields.Has("workspace_bytes")) {
    cost.workspace_bytes = fields.Integer("workspace_bytes");
  }
  if (fields.Has("time_us")) cost.time_us = fields.Number("time_us");
  fields.RefuseOtherFields();
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

absl::StatusOr<NodeEntry> ParseNodeEntry(const Json& json) {
  JsonObject node(json);
  NodeEntry entry;
  entry.name = node.Text("name");
  node.Check("name", CheckNodeName(entry.name));
  entry.op = node.Text("op");
  if (entry.op.empty()) node.Fail("op", "is empty");
  if (node.Has("inputs")) entry.inputs = node.Texts("inputs");
  if (node.Has("control_inputs")) {
    entry.control_inputs = node.Texts("control_inputs");
  }
  if (node.Has("device")) entry.placement = ReadPlacement(node);
  if (node.Has("attrs")) {
    entry.attributes = ReadAttributes(node.Object("attrs"));
  }
  if (node.Has("outputs")) entry.outputs = ReadOutputs(node);
  if (node.Has("cost")) entry.cost = ReadCost(node.Object("cost"));
  node.RefuseOtherFields();
  SPILLWAY_RETURN_IF_ERROR(node.status());
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
