#include "graph/builder/builder.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "base/status_macros.h"
#include "graph/input_groups.h"
#include "graph/node_name.h"
#include "graph/verify.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// "input 1 (filter)"; without the name for a node with several groups or of an
// op that is not registered (null).
std::string DescribeSlot(const OpDef* def, size_t slot, size_t num_inputs) {
  if (def != nullptr && slot < def->inputs.size() &&
      NumGroups(*def, num_inputs) == 1) {
    return fmt::format("input {} ({})", slot, def->inputs[slot]);
  }
  return fmt::format("input {}", slot);
}

// Tells apart builders that existed at the same address, one after the other.
uint16_t NextSerial() {
  static std::atomic<uint16_t> serial = 0;
  return ++serial;
}

std::string_view OrEmpty(const char* name) {
  return name == nullptr ? std::string_view() : std::string_view(name);
}

// That an op which is not registered (`def` is null) has stated outputs, and
// only such an op.
absl::Status CheckStatedOutputs(const OpDef* def, const OpSpec& spec) {
  if (def != nullptr && spec.outputs.has_value()) {
    return InvalidArgument(fmt::format(
        "'{}' is an op of the engine: its outputs are not stated", spec.op));
  }
  if (def == nullptr && !spec.outputs.has_value()) {
    return InvalidArgument(fmt::format("there is no op named '{}'", spec.op));
  }
  for (const TensorType& type :
       spec.outputs.value_or(std::vector<TensorType>())) {
    SPILLWAY_RETURN_IF_ERROR(CheckShape(type.shape));
  }
  return absl::OkStatus();
}

absl::Status CheckTensor(const GraphBuilder& builder, Tensor tensor,
                         std::string_view what) {
  if (!tensor.is_valid()) {
    return InvalidArgument(
        fmt::format("{} is an invalid tensor: no call has made it", what));
  }
  if (!tensor.is_of(builder)) {
    return InvalidArgument(fmt::format(
        "{} belongs to another GraphBuilder, or to a finished graph", what));
  }
  return absl::OkStatus();
}

}  // namespace

NameScope NameScope::Scope(std::string_view name) const {
  builder_->Fail(Annotate(CheckNodeName(name), "name scope"));
  return {builder_, fmt::format("{}{}/", prefix_, name)};
}

NameScope NameScope::Scope(const char* name) const {
  return Scope(OrEmpty(name));
}

std::string_view NameScope::name() const {
  const std::string_view prefix = prefix_;
  return prefix.empty() ? prefix : prefix.substr(0, prefix.size() - 1);
}

GraphBuilder::GraphBuilder(const OpRegistry& registry, std::string graph_name)
    : registry_(registry),
      serial_(NextSerial()),
      graph_(std::move(graph_name)) {}

NameScope GraphBuilder::ScopeOf(Tensor tensor) {
  if (!status_.ok() || !tensor.is_of(*this)) return *this;
  const std::string& name = graph_.producer(tensor).name;
  return {this, name.substr(0, name.rfind('/') + 1)};
}

Tensor GraphBuilder::Placeholder(std::string_view name, DType dtype,
                                 const Shape& shape) {
  if (!status_.ok()) return Tensor();
  Fail(Annotate(CheckNodeName(name), "placeholder"));
  if (graph_.FindNode(name).has_value()) {
    Fail(InvalidArgument(
        fmt::format("{}: there is a node of this name already", name)));
  }
  return Add(*this, {.op = std::string(kPlaceholder),
                     .attributes = {{"dtype", dtype}, {"shape", shape}},
                     .name = std::string(name)});
}

Tensor GraphBuilder::Placeholder(const char* name, DType dtype,
                                 const Shape& shape) {
  return Placeholder(OrEmpty(name), dtype, shape);
}

absl::StatusOr<NodeSpec> GraphBuilder::MakeNodeSpec(OpSpec spec) const {
  const OpDef* def = registry_.Find(spec.op);
  SPILLWAY_RETURN_IF_ERROR(CheckStatedOutputs(def, spec));
  NodeSpec node;
  std::vector<TensorType> inputs;
  for (size_t slot = 0; slot < spec.inputs.size(); ++slot) {
    const Tensor tensor = spec.inputs[slot];
    SPILLWAY_RETURN_IF_ERROR(CheckTensor(
        *this, tensor, DescribeSlot(def, slot, spec.inputs.size())));
    node.inputs.push_back(tensor);
    inputs.push_back(tensor.type());
  }
  for (const Tensor tensor : spec.control_inputs) {
    SPILLWAY_RETURN_IF_ERROR(CheckTensor(*this, tensor, "a control input"));
    node.control_inputs.push_back(graph_.producer(tensor).id);
  }
  if (def != nullptr) {
    SPILLWAY_ASSIGN_OR_RETURN(node.outputs,
                              InferOutputs(*def, {spec.attributes, inputs}));
  } else {
    node.outputs = *std::move(spec.outputs);
  }
  node.op = std::move(spec.op);
  node.attributes = std::move(spec.attributes);
  return node;
}

absl::StatusOr<std::string> GraphBuilder::NodeName(const NameScope& scope,
                                                   const OpSpec& spec) const {
  const std::string_view own_name = spec.name.empty() ? spec.op : spec.name;
  std::string name = fmt::format("{}{}", scope.prefix(), own_name);
  if (&scope.builder() != this) {
    return InvalidArgument(fmt::format(
        "{}: its name scope belongs to another GraphBuilder", name));
  }
  SPILLWAY_RETURN_IF_ERROR(Annotate(CheckNodeName(own_name), name));
  const bool is_named_variable = spec.op == kVariable && !spec.name.empty();
  if (is_named_variable && graph_.FindNode(name).has_value()) {
    return InvalidArgument(fmt::format(
        "{}: the scope '{}' has a node of this name already, and variables are "
        "not renamed: give each layer a scope of its own",
        name, scope.name()));
  }
  return graph_.UniqueName(name);
}

std::vector<Tensor> GraphBuilder::AddAll(const NameScope& scope, OpSpec spec) {
  if (!status_.ok()) return {};
  absl::StatusOr<std::string> name = NodeName(scope, spec);
  if (!name.ok()) {
    Fail(name.status());
    return {};
  }
  absl::StatusOr<NodeSpec> node = MakeNodeSpec(std::move(spec));
  if (!node.ok()) {
    Fail(Annotate(node.status(), *name));
    return {};
  }
  node->name = *std::move(name);
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
  const Node& from = graph_.producer(before);
  const Node& to = graph_.producer(after);
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
  Fail(VerifyGraph(graph_, registry_));
  SPILLWAY_RETURN_IF_ERROR(status_);
  status_ = FailedPrecondition(fmt::format(
      "the graph '{}' has been built already: start another GraphBuilder",
      graph_.name()));
  return std::exchange(graph_, Graph(graph_.name()));
}

}  // namespace spillway
