#include "graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/status_macros.h"

namespace spillway {
namespace {

// Inserts into a sorted vector; false if the item is already in it. Graphs grow
// at the end, so this nearly always appends.
template <typename T>
bool InsertSorted(std::vector<T>& sorted, const T& item) {
  if (sorted.empty() || sorted.back() < item) {
    sorted.push_back(item);
    return true;
  }
  const auto place = std::ranges::lower_bound(sorted, item);
  if (*place == item) return false;
  sorted.insert(place, item);
  return true;
}

template <typename T>
void EraseSorted(std::vector<T>& sorted, const T& item) {
  const auto place = std::ranges::lower_bound(sorted, item);
  SPILLWAY_CHECK(place != sorted.end() && *place == item);
  sorted.erase(place);
}

std::string WithSuffix(std::string_view base, int64_t suffix) {
  return fmt::format("{}_{}", base, suffix);
}

// 12 for "conv_12"; 0 if UniqueName could not have made the ending.
int64_t SuffixOf(std::string_view name, size_t underscore) {
  const std::string_view digits = name.substr(underscore + 1);
  int64_t suffix = 0;
  const auto [end, error] =
      std::from_chars(digits.begin(), digits.end(), suffix);
  const bool is_suffix = error == std::errc() && end == digits.end() &&
                         digits.front() >= '1' && digits.front() <= '9';
  return is_suffix ? suffix : 0;
}

}  // namespace

std::optional<NodeId> Graph::FindNode(std::string_view name) const {
  const auto it = by_name_.find(name);
  if (it == by_name_.end()) return std::nullopt;
  return it->second;
}

std::string Graph::ValueName(ValueId id) const {
  const fmt::format_int index(value(id).index);
  const std::string& node = producer(id).name;
  std::string name;
  name.reserve(node.size() + 1 + index.size());
  return name.append(node).append(1, ':').append(index.data(), index.size());
}

absl::StatusOr<ValueId> Graph::FindValue(std::string_view name) const {
  const size_t colon = name.rfind(':');
  size_t index = 0;
  if (colon != std::string_view::npos) {
    const std::string_view digits = name.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.begin(), digits.end(), index);
    if (error != std::errc() || end != digits.end()) {
      return InvalidArgument(fmt::format(
          "'{}' names no value: expected <node>:<output index>", name));
    }
  }
  const std::optional<NodeId> id = FindNode(name.substr(0, colon));
  if (!id.has_value()) {
    return InvalidArgument(
        fmt::format("there is no node named '{}'", name.substr(0, colon)));
  }
  const Node& found = node(*id);
  if (index >= found.outputs.size()) {
    return InvalidArgument(fmt::format("'{}' does not exist: {} has {} outputs",
                                       name, found.name, found.outputs.size()));
  }
  return found.outputs[index];
}

NodeId Graph::AddNode(NodeSpec spec) {
  const NodeId id(nodes_.size());
  Node node;
  node.id = id;
  node.name = std::move(spec.name);
  node.op = std::move(spec.op);
  node.attributes = std::move(spec.attributes);
  node.placement = spec.placement;
  node.cost = spec.cost;
  node.outputs.reserve(spec.outputs.size());
  for (TensorType& type : spec.outputs) {
    const auto index = static_cast<int32_t>(node.outputs.size());
    node.outputs.push_back(
        values_.push_back({.producer = id, .index = index, .type = type}));
    uses_.push_back({});
  }
  nodes_.push_back(std::move(node));
  control_outputs_.push_back({});
  IndexName(id);
  SetInputs(id, spec.inputs);
  for (const NodeId before : spec.control_inputs) AddControlEdge(before, id);
  return id;
}

void Graph::IndexName(NodeId id) {
  const std::string& name = nodes_[id].name;
  const bool is_new = by_name_.emplace(name, id).second;
  SPILLWAY_CHECK(is_new);

  // If this name takes the first free suffix of its base, find the next.
  const size_t underscore = name.rfind('_');
  if (underscore == std::string::npos || underscore + 1 == name.size()) return;
  const int64_t suffix = SuffixOf(name, underscore);
  const std::string_view base = std::string_view(name).substr(0, underscore);
  const auto known = free_suffix_.find(base);
  if (suffix == 0 ||
      suffix != (known == free_suffix_.end() ? 1 : known->second)) {
    return;
  }
  int64_t next = suffix + 1;
  while (by_name_.contains(WithSuffix(base, next))) ++next;
  free_suffix_[std::string(base)] = next;
}

std::string Graph::UniqueName(std::string_view name) const {
  if (!by_name_.contains(name)) return std::string(name);
  const auto known = free_suffix_.find(name);
  return WithSuffix(name, known == free_suffix_.end() ? 1 : known->second);
}

void Graph::AddControlEdge(NodeId from, NodeId to) {
  SPILLWAY_CHECK(from.is_valid() && from.index() < nodes_.size());
  SPILLWAY_CHECK(to.is_valid() && to.index() < nodes_.size());
  SPILLWAY_CHECK(from != to);
  if (InsertSorted(control_outputs_[from], to)) {
    nodes_[to].control_inputs.push_back(from);
  }
}

void Graph::SetInput(Use use, ValueId value) {
  ValueId& input = nodes_[use.node].inputs[static_cast<size_t>(use.slot)];
  SPILLWAY_CHECK(type(input) == type(value));
  EraseSorted(uses_[input], use);
  InsertSorted(uses_[value], use);
  input = value;
}

void Graph::SetInputs(NodeId id, std::span<const ValueId> inputs) {
  Node& node = nodes_[id];
  SPILLWAY_CHECK(node.inputs.empty());
  node.inputs.assign(inputs.begin(), inputs.end());
  for (size_t slot = 0; slot < inputs.size(); ++slot) {
    SPILLWAY_CHECK(inputs[slot].is_valid() &&
                   inputs[slot].index() < values_.size());
    InsertSorted(uses_[inputs[slot]],
                 Use{.node = id, .slot = static_cast<int32_t>(slot)});
  }
}

void Graph::SetPlacement(NodeId id, Placement placement) {
  nodes_[id].placement = placement;
}

void Graph::SetAttribute(NodeId id, std::string_view name,
                         AttributeValue value) {
  nodes_[id].attributes.Set(name, std::move(value));
}

}  // namespace spillway
