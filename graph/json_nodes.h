// One entry of a graph file's node list, to and from JSON. Internal to
// json_format.cc, which looks up the names.
#ifndef SPILLWAY_GRAPH_JSON_NODES_H_
#define SPILLWAY_GRAPH_JSON_NODES_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "nlohmann/json_fwd.hpp"

namespace spillway {

// The fields of an entry, each of the right kind and in its own range.
struct NodeEntry {
  std::string name;
  std::string op;
  std::vector<std::string> inputs;          // "node:index" or "node"
  std::vector<std::string> control_inputs;  // "node"
  std::optional<std::vector<TensorType>> outputs;
  Attributes attributes;
  Placement placement = Placement::kDevice;
  std::optional<StatedCost> cost;
};

// Errors: INVALID_ARGUMENT naming the field.
absl::StatusOr<NodeEntry> ParseNodeEntry(const nlohmann::ordered_json& json);

nlohmann::ordered_json FormatNodeEntry(const Graph& graph, const Node& node);

// INVALID_ARGUMENT for the first key of the object `json` that is not `known`.
absl::Status CheckFieldNames(const nlohmann::ordered_json& json,
                             std::span<const std::string_view> known);

// Field `name` of the object `json`, which must be there and be text.
absl::StatusOr<std::string> GetTextField(const nlohmann::ordered_json& json,
                                         std::string_view name);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_JSON_NODES_H_
