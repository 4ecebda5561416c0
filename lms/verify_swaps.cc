#include "lms/verify_swaps.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/schedule.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// The value of the original that `value` is a copy of, through added swaps.
ValueId Contract(const Graph& edited, size_t original_size, ValueId value) {
  while (edited.value(value).producer.index() >= original_size) {
    const Node& added = edited.producer(value);
    if (added.inputs.empty()) return {};
    value = added.inputs[0];
  }
  return value;
}

absl::Status CheckOriginalNode(const Graph& original, const Graph& edited,
                               NodeId id) {
  const Node& before = original.node(id);
  const Node& after = edited.node(id);
  if (before.name != after.name || before.op != after.op ||
      before.attributes != after.attributes ||
      before.placement != after.placement || before.cost != after.cost ||
      before.outputs != after.outputs) {
    return Internal(fmt::format("the edit changed node {}", before.name));
  }
  for (const ValueId output : before.outputs) {
    if (original.type(output) != edited.type(output)) {
      return Internal(fmt::format("the edit changed the type of {}",
                                  original.ValueName(output)));
    }
  }
  if (before.inputs.size() != after.inputs.size()) {
    return Internal(fmt::format("the edit changed the number of inputs of {}",
                                before.name));
  }
  for (size_t slot = 0; slot < before.inputs.size(); ++slot) {
    if (Contract(edited, original.num_nodes(), after.inputs[slot]) !=
        before.inputs[slot]) {
      return Internal(fmt::format("input {} of {} was {}, but is {}", slot,
                                  before.name,
                                  original.ValueName(before.inputs[slot]),
                                  edited.ValueName(after.inputs[slot])));
    }
  }
  // Added control edges may end at swap-ins only, so these must be the same.
  if (before.control_inputs != after.control_inputs) {
    return Internal(
        fmt::format("the edit changed the control inputs of {}", before.name));
  }
  return absl::OkStatus();
}

absl::Status CheckAddedNode(const Graph& edited, NodeId id,
                            size_t original_size) {
  const Node& node = edited.node(id);
  const bool out = node.op == kSwapOut;
  if (!out && node.op != kSwapIn) {
    return Internal(
        fmt::format("the edit added {} of op {}", node.name, node.op));
  }
  if (node.inputs.size() != 1 || node.outputs.size() != 1 ||
      edited.type(node.inputs[0]) != edited.type(node.outputs[0]) ||
      node.placement != Placement::kHost) {
    return Internal(fmt::format(
        "{} must have one input and one output of the same type, on the host",
        node.name));
  }
  const bool from_swap_out = edited.producer(node.inputs[0]).op == kSwapOut;
  if (out == from_swap_out) {
    return Internal(fmt::format("{} reads {}", node.name,
                                edited.ValueName(node.inputs[0])));
  }
  if (out && !node.control_inputs.empty()) {
    return Internal(fmt::format("{} has a control input", node.name));
  }
  for (const NodeId trigger : node.control_inputs) {
    if (trigger.index() >= original_size) {
      return Internal(fmt::format("the trigger of {} is a swap", node.name));
    }
  }
  const std::vector<Use>& uses = edited.uses(node.outputs[0]);
  const auto right_reader = [&](const Use& use) {
    return (edited.node(use.node).op == kSwapIn) == out;
  };
  if (uses.empty() || !std::ranges::all_of(uses, right_reader)) {
    return Internal(
        out ? fmt::format("{} must be read by swap-ins, and is not", node.name)
            : fmt::format("{} must have a reader that is no swap", node.name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifySwaps(const Graph& original, const Graph& edited) {
  if (edited.num_nodes() < original.num_nodes()) {
    return Internal("the edit removed nodes");
  }
  if (const auto levels = Levels(edited); !levels.ok()) {
    return Internal(std::string(levels.status().message()));
  }
  for (const Node& node : original.nodes()) {
    RETURN_IF_ERROR(CheckOriginalNode(original, edited, node.id));
  }
  for (size_t i = original.num_nodes(); i < edited.num_nodes(); ++i) {
    RETURN_IF_ERROR(CheckAddedNode(edited, NodeId(i), original.num_nodes()));
  }
  return absl::OkStatus();
}

}  // namespace spillway
