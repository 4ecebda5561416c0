// A training step as a static dataflow graph: nodes, the values they produce,
// and control edges (an order between two nodes that carries no data).
//
// Ids are dense and in creation order, and never change: passes add nodes,
// reroute uses, add control edges and set attributes. Types are known from the
// start (GraphBuilder infers them, the reader checks them).
// Threads: several threads may read a const Graph.
// Cost: every query is O(1) or proportional to its result.
#ifndef SPILLWAY_GRAPH_GRAPH_H_
#define SPILLWAY_GRAPH_GRAPH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "graph/node.h"

namespace spillway {

// What Graph::AddNode needs to make a node.
struct NodeSpec {
  std::string name = {};
  std::string op = {};
  std::vector<ValueId> inputs = {};
  std::vector<NodeId> control_inputs = {};
  std::vector<TensorType> outputs = {};
  Attributes attributes = {};
  Placement placement = Placement::kDevice;
  std::optional<StatedCost> cost = {};
};

class Graph {
 public:
  Graph() = default;
  explicit Graph(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  size_t num_nodes() const { return nodes_.size(); }
  size_t num_values() const { return values_.size(); }
  const IdMap<NodeId, Node>& nodes() const { return nodes_; }
  const IdMap<ValueId, Value>& values() const { return values_; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  const Value& value(ValueId id) const { return values_[id]; }
  const Node& producer(ValueId id) const { return nodes_[value(id).producer]; }
  const TensorType& type(ValueId id) const { return values_[id].type; }
  ValueId output(NodeId id, int index = 0) const {
    return nodes_[id].outputs[static_cast<size_t>(index)];
  }

  // Uses of a value, sorted by (node, slot), in whatever order they were added.
  const std::vector<Use>& uses(ValueId id) const { return uses_[id]; }
  // Nodes that have a control edge from `id`, sorted.
  const std::vector<NodeId>& control_outputs(NodeId id) const {
    return control_outputs_[id];
  }

  std::optional<NodeId> FindNode(std::string_view name) const;

  // "conv1/Conv2D:0"; the text that graph files and messages use.
  std::string ValueName(ValueId id) const;
  // The value called "name:index" ("name" means "name:0"). Errors:
  // INVALID_ARGUMENT naming what does not exist.
  absl::StatusOr<ValueId> FindValue(std::string_view name) const;

  // Appends a node. The name must be new, and the inputs and control inputs
  // must exist (CHECKed: callers with untrusted input test first). Repeated
  // control inputs are kept once.
  NodeId AddNode(NodeSpec spec);

  // `name`, or the first of name_1, name_2, ... that is free.
  std::string UniqueName(std::string_view name) const;

  // Adds the edge unless it exists already; `from` must differ from `to`.
  void AddControlEdge(NodeId from, NodeId to);

  // Makes `use` read `value` (of the same type, CHECKed) instead.
  void SetInput(Use use, ValueId value);

  // Sets the inputs of `id`, which must not have any (CHECKed). Needed only
  // where nodes come before their inputs (reading files, copying graphs).
  void SetInputs(NodeId id, std::span<const ValueId> inputs);

  void SetPlacement(NodeId id, Placement placement);

  // Adds the attribute, or replaces it. It must be one that the types of the
  // node's outputs do not depend on.
  void SetAttribute(NodeId id, std::string_view name, AttributeValue value);

 private:
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>()(name);
    }
  };

  void IndexName(NodeId id);

  std::string name_ = "graph";
  IdMap<NodeId, Node> nodes_;
  IdMap<ValueId, Value> values_;
  IdMap<ValueId, std::vector<Use>> uses_;
  IdMap<NodeId, std::vector<NodeId>> control_outputs_;

  template <typename T>
  using NameMap = std::unordered_map<std::string, T, NameHash, std::equal_to<>>;
  // Looked up, never iterated.
  NameMap<NodeId> by_name_;
  // For each base name whose _1 is taken: the first free suffix.
  NameMap<int64_t> free_suffix_;
};

}  // namespace spillway

#endif  // SPILLWAY_GRAPH_GRAPH_H_
