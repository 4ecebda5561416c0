#include "graph/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/counted.h"
#include "base/status_macros.h"
#include "graph/node_name.h"
#include "graph/order/mutation_order.h"
#include "graph/order/schedule.h"
#include "graph/types_of.h"

namespace spillway {
namespace {

// Far above any real cost, and low enough that a sum over a million nodes, in
// nanoseconds or bytes, fits an int64_t.
constexpr double kMaxFlops = 1e18;
constexpr double kMaxTimeUs = 1e9;
constexpr double kMaxBytes = 0x1p50;
constexpr int64_t kMaxTotalBytes = int64_t{1} << 62;

absl::Status CheckRange(std::string_view field, double value, double most) {
  if (value >= 0 && value <= most) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "cost: {} is {}, but must be between 0 and {}", field, value, most));
}

absl::Status CheckCost(const StatedCost& cost) {
  SPILLWAY_RETURN_IF_ERROR(CheckRange("flops", cost.flops, kMaxFlops));
  SPILLWAY_RETURN_IF_ERROR(CheckRange("bytes", cost.bytes, kMaxBytes));
  SPILLWAY_RETURN_IF_ERROR(CheckRange(
      "workspace_bytes", static_cast<double>(cost.workspace_bytes), kMaxBytes));
  return CheckRange("time_us", cost.time_us, kMaxTimeUs);
}

bool IsFinite(const AttributeValue& value) {
  if (const auto* real = std::get_if<double>(&value.variant())) {
    return std::isfinite(*real);
  }
  if (const auto* list = std::get_if<AttributeValue::List>(&value.variant())) {
    return std::ranges::all_of(*list, IsFinite);
  }
  if (const auto* object =
          std::get_if<AttributeValue::Object>(&value.variant())) {
    return std::ranges::all_of(
        *object, [](const auto& item) { return IsFinite(item.second); });
  }
  return true;
}

absl::Status CheckFields(const Graph& graph, const Node& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckNodeName(node.name));
  if (node.op.empty()) return InvalidArgument("the op is empty");
  for (const auto& [name, value] : node.attributes.items()) {
    if (!IsFinite(value)) {
      return InvalidArgument(fmt::format(
          "attribute '{}' holds a number that is not finite", name));
    }
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    SPILLWAY_RETURN_IF_ERROR(
        Annotate(CheckShape(graph.type(node.outputs[i]).shape),
                 fmt::format("output {}", i)));
  }
  return node.cost.has_value() ? CheckCost(*node.cost) : absl::OkStatus();
}

// Each edge is listed at both of its ends.
absl::Status CheckLinks(const Graph& graph, const Node& node) {
  for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
    const ValueId input = node.inputs[slot];
    const bool exists = input.is_valid() && input.index() < graph.num_values();
    const Use use = {.node = node.id, .slot = static_cast<int32_t>(slot)};
    if (!exists || !std::ranges::binary_search(graph.uses(input), use)) {
      return InvalidArgument(
          fmt::format("input {} and the uses of its value disagree", slot));
    }
  }
  for (const NodeId before : node.control_inputs) {
    const bool exists = before.is_valid() && before.index() < graph.num_nodes();
    if (!exists ||
        !std::ranges::binary_search(graph.control_outputs(before), node.id)) {
      return InvalidArgument("a control input lacks its other end");
    }
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& value = graph.value(node.outputs[i]);
    if (value.producer != node.id || value.index != static_cast<int32_t>(i)) {
      return InvalidArgument(fmt::format("output {} is another node's", i));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSchema(const Graph& graph, const Node& node,
                         const OpRegistry& registry) {
  const OpDef* def = registry.Find(node.op);
  if (def == nullptr) return absl::OkStatus();
  const std::vector<TensorType> inputs = TypesOf(graph, node.inputs);
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<TensorType> inferred,
                            InferOutputs(*def, {node.attributes, inputs}));
  const std::vector<TensorType> stated = TypesOf(graph, node.outputs);
  if (stated.size() != inferred.size()) {
    return InvalidArgument(fmt::format("states {}, but {} has {}",
                                       Counted(stated.size(), "output"),
                                       node.op, inferred.size()));
  }
  for (size_t i = 0; i < stated.size(); ++i) {
    if (stated[i] != inferred[i]) {
      return InvalidArgument(fmt::format("outputs[{}] is {}, but {} makes {}",
                                         i, stated[i].ToString(), node.op,
                                         inferred[i].ToString()));
    }
  }
  return absl::OkStatus();
}

// Later sums of bytes, in any code, must not overflow.
absl::Status CheckTotalBytes(const Graph& graph) {
  int64_t room_bytes = kMaxTotalBytes;
  for (const Node& node : graph.nodes()) {
    if (node.cost.has_value()) room_bytes -= node.cost->workspace_bytes;
    for (const ValueId output : node.outputs) {
      if (room_bytes > 0) room_bytes -= graph.type(output).num_bytes();
    }
    if (room_bytes <= 0) {
      return InvalidArgument(
          fmt::format("{}: the tensors up to this node hold 2^62 bytes or more",
                      node.name));
    }
  }
  return absl::OkStatus();
}

// All nodes, edges forward: sorted by level, which the cycle check computed.
}  // namespace

absl::Status VerifyGraph(const Graph& graph, const OpRegistry& registry) {
  SPILLWAY_RETURN_IF_ERROR(registry.status());
  for (const Node& node : graph.nodes()) {
    SPILLWAY_RETURN_IF_ERROR(Annotate(CheckFields(graph, node), node.name));
    SPILLWAY_RETURN_IF_ERROR(Annotate(CheckLinks(graph, node), node.name));
    SPILLWAY_RETURN_IF_ERROR(
        Annotate(CheckSchema(graph, node, registry), node.name));
  }
  SPILLWAY_RETURN_IF_ERROR(CheckTotalBytes(graph));
  SPILLWAY_ASSIGN_OR_RETURN(const auto levels, Levels(graph));
  return CheckMutationOrder(graph, registry, OrderByLevel(levels));
}

}  // namespace spillway
