#include "graph/builder.h"

#include <fmt/format.h>

#include <utility>

#include "base/status_macros.h"
#include "graph/input_groups.h"
#include "graph/node_name.h"
#include "graph/verify.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// "input 1 (filter)"; without the name in a node of several groups.
std::string DescribeSlot(const OpDef& def, size_t slot, size_t num_inputs) {
  if (slot < def.inputs.size() && NumGroups(def, num_inputs) == 1) {
    return fmt::format("input {} ({})", slot, def.inputs[slot]);
  }
  return fmt::format("input {}", slot);
}

absl::Status CheckTensor(const GraphBuilder& builder, Tensor tensor,
                         std::string_view what) {
  if (!tensor.is_valid()) {
    return InvalidArgument(
        fmt::format("{} is an invalid tensor: no call has made it", what));
  }
  if (tensor.builder() != &builder) {
    return InvalidArgument(
        fmt::format("{} belongs to another GraphBuilder", what));
  }
  return absl::OkStatus();
}

// The node to add; needs only its name.
absl::StatusOr<NodeSpec> MakeNodeSpec(const GraphBuilder& builder,
                                      OpSpec spec) {
  const OpDef* def = builder.registry().Find(spec.op);
  if (def == nullptr) {
    return InvalidArgument(fmt::format("there is no op named '{}'", spec.op));
  }
  NodeSpec node;
  std::vector<TensorType> inputs;
  for (size_t slot = 0; slot < spec.inputs.size(); ++slot) {
    const Tensor tensor = spec.inputs[slot];
    SPILLWAY_RETURN_IF_ERROR(CheckTensor(
        builder, tensor, DescribeSlot(*def, slot, spec.inputs.size())));
    node.inputs.push_back(tensor.id());
    inputs.push_back(tensor.type());
  }
  for (const Tensor tensor : spec.control_inputs) {
    SPILLWAY_RETURN_IF_ERROR(CheckTensor(builder, tensor, "a control input"));
    node.control_inputs.push_back(builder.graph().producer(tensor.id()).id);
  }
  SPILLWAY_ASSIGN_OR_RETURN(node.outputs,
                            InferOutputs(*def, {spec.attributes, inputs}));
  node.op = std::move(spec.op);
  node.attributes = std::move(spec.attributes);
  return node;
}

}  // namespace

const TensorType& Tensor::type() const {
  static const TensorType kNone;
  return is_valid() ? builder_->graph().type(id_) : kNone;
}

NameScope NameScope::Scope(std::string_view name) const {
  builder_->Fail(Annotate(CheckNodeName(name), "name scope"));
  return {builder_, fmt::format("{}{}/", prefix_, name)};
}

std::string_view NameScope::name() const {
  const std::string_view prefix = prefix_;
  return prefix.empty() ? prefix : prefix.substr(0, prefix.size() - 1);
}

GraphBuilder::GraphBuilder(const OpRegistry& registry, std::string graph_name)
    : registry_(registry), graph_(std::move(graph_name)) {}

Tensor GraphBuilder::Placeholder(std::string_view name, DType dtype,
                                 const Shape& shape) {
  if (status_.ok() && graph_.FindNode(name).has_value()) {
    Fail(InvalidArgument(
        fmt::format("{}: there is a node of this name already", name)));
  }
  return Add(*this, {.op = std::string(kPlaceholder),
                     .attributes = {{"dtype", dtype}, {"shape", shape}},
                     .name = std::string(name)});
}

std::vector<Tensor> GraphBuilder::AddAll(const NameScope& scope, OpSpec spec) {
  if (!status_.ok()) return {};
  const std::string_view own_name = spec.name.empty() ? spec.op : spec.name;
  const std::string full_name = fmt::format("{}{}", scope.prefix(), own_name);
  if (&scope.builder() != this) {
    Fail(InvalidArgument(fmt::format(
        "{}: its name scope belongs to another GraphBuilder", full_name)));
    return {};
  }
  absl::Status named = CheckNodeName(own_name);
  absl::StatusOr<NodeSpec> node =
      named.ok() ? MakeNodeSpec(*this, std::move(spec)) : std::move(named);
  if (!node.ok()) {
    Fail(Annotate(node.status(), full_name));
    return {};
  }
  node->name = graph_.UniqueName(full_name);
  const NodeId id = graph_.AddNode(*std::move(node));
  std::vector<Tensor> outputs;
  for (const ValueId output : graph_.node(id).outputs) {
    outputs.emplace_back(this, output);
  }
  return outputs;
}

Tensor GraphBuilder::Add(const NameScope& scope, OpSpec spec) {
  const std::vector<Tensor> outputs = AddAll(scope, std::move(spec));
  return outputs.empty() ? Tensor() : outputs.front();
}

void GraphBuilder::AddControlEdge(Tensor before, Tensor after) {
  if (!status_.ok()) return;
  Fail(CheckTensor(*this, before, "the start of a control edge"));
  Fail(CheckTensor(*this, after, "the end of a control edge"));
  if (!status_.ok()) return;
  const Node& from = graph_.producer(before.id());
  const Node& to = graph_.producer(after.id());
  if (from.id == to.id) {
    Fail(InvalidArgument(
        fmt::format("{}: a control edge from the node to itself", from.name)));
    return;
  }
  graph_.AddControlEdge(from.id, to.id);
}

void GraphBuilder::Fail(const absl::Status& status) {
  if (status_.ok()) status_ = status;
}

absl::StatusOr<Graph> GraphBuilder::Build() && {
  SPILLWAY_RETURN_IF_ERROR(status_);
  SPILLWAY_RETURN_IF_ERROR(VerifyGraph(graph_, registry_));
  return std::move(graph_);
}

}  // namespace spillway
