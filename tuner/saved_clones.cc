#include "tuner/saved_clones.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace spillway {
namespace {

using Json = nlohmann::ordered_json;

constexpr IntegerRange kIndex = {.least = 0,
                                 .most = std::numeric_limits<int32_t>::max()};

int32_t ReadIndex(JsonObject& object, std::string_view field) {
  return static_cast<int32_t>(object.Integer(field, kIndex));
}

NodeId ReadNode(JsonObject& object, std::string_view field,
                const Graph& graph) {
  const std::optional<NodeId> id = graph.FindNode(object.Text(field));
  if (!id) object.Fail(field, "must name a node of this graph");
  return id.value_or(NodeId());
}

Json ToJson(const CloneInput& input, const Graph& graph) {
  if (input.clone < 0) return {{"value", graph.ValueName(input.value)}};
  return {{"clone", input.clone}, {"output", input.output}};
}

Json ToJson(const Clone& clone, const Graph& graph) {
  Json json = {{"node", graph.node(clone.original).name}};
  if (clone.derived_output >= 0) json["output"] = clone.derived_output;
  Json inputs = Json::array();
  for (const CloneInput& input : clone.inputs) {
    inputs.push_back(ToJson(input, graph));
  }
  Json readers = Json::array();
  for (const CloneReaders& of_output : clone.readers) {
    readers.push_back({{"output", of_output.output},
                       {"nodes", NamesToJson(of_output.readers, graph)}});
  }
  json["inputs"] = std::move(inputs);
  json["triggers"] = NamesToJson(clone.triggers, graph);
  json["readers"] = std::move(readers);
  return json;
}

CloneInput ReadInput(JsonObject& object, const Graph& graph) {
  CloneInput input;
  if (object.Has("clone")) {
    input.clone = ReadIndex(object, "clone");
    input.output = ReadIndex(object, "output");
  } else {
    const absl::StatusOr<ValueId> value = graph.FindValue(object.Text("value"));
    object.Check("value", value.status());
    if (value.ok()) input.value = *value;
  }
  object.RefuseOtherFields();
  return input;
}

Clone ReadClone(JsonObject& object, const Graph& graph) {
  Clone clone = {.original = ReadNode(object, "node", graph)};
  if (object.Has("output")) clone.derived_output = ReadIndex(object, "output");
  for (JsonObject input : object.Objects("inputs")) {
    clone.inputs.push_back(ReadInput(input, graph));
  }
  clone.triggers = ReadNodes(object, "triggers", graph);
  for (JsonObject readers : object.Objects("readers")) {
    clone.readers.push_back({.output = ReadIndex(readers, "output"),
                             .readers = ReadNodes(readers, "nodes", graph)});
    readers.RefuseOtherFields();
  }
  object.RefuseOtherFields();
  return clone;
}

}  // namespace

Json NamesToJson(const std::vector<NodeId>& nodes, const Graph& graph) {
  Json names = Json::array();
  for (const NodeId id : nodes) names.push_back(graph.node(id).name);
  return names;
}

std::vector<NodeId> ReadNodes(JsonObject& object, std::string_view field,
                              const Graph& graph) {
  std::vector<NodeId> nodes;
  for (const std::string& name : object.Texts(field)) {
    const std::optional<NodeId> id = graph.FindNode(name);
    if (!id) {
      object.Fail(field, "must be a list of nodes of this graph");
      break;
    }
    nodes.push_back(*id);
  }
  return nodes;
}

Json ClonesToJson(const RecomputePlan& plan, const Graph& graph) {
  Json clones = Json::array();
  for (const Clone& clone : plan.clones) clones.push_back(ToJson(clone, graph));
  return clones;
}

Json CloneOrdersToJson(const RecomputePlan& plan, const Graph& graph) {
  Json orders = Json::array();
  for (const RecomputePlan::Order& order : plan.orders) {
    orders.push_back(
        {{"clone", order.before}, {"before", graph.node(order.after).name}});
  }
  return orders;
}

RecomputePlan ReadClones(JsonObject& file, const Graph& graph) {
  RecomputePlan plan;
  for (JsonObject clone : file.Objects("recomputes")) {
    plan.clones.push_back(ReadClone(clone, graph));
  }
  for (JsonObject order : file.Objects("recompute_orders")) {
    plan.orders.push_back({.before = ReadIndex(order, "clone"),
                           .after = ReadNode(order, "before", graph)});
    order.RefuseOtherFields();
  }
  return plan;
}

}  // namespace spillway
