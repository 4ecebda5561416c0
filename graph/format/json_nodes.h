// One entry of a graph file's node list, to and from JSON. Internal to
// json_format.cc, which looks up the names.
#ifndef SPILLWAY_GRAPH_FORMAT_JSON_NODES_H_
#define SPILLWAY_GRAPH_FORMAT_JSON_NODES_H_

#include <optional>
#include <string>
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

// Errors: INVALID_ARGUMENT naming the field; also if `json` is not an object.
absl::StatusOr<NodeEntry> ParseNodeEntry(const nlohmann::ordered_json& json);

nlohmann::ordered_json FormatNodeEntry(const Graph& graph, const Node& node);

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_FORMAT_JSON_NODES_H_
