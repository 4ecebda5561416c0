#include "graph/builder/gradient.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "base/counted.h"
#include "base/status_macros.h"
#include "graph/builder/op_tally.h"
#include "graph/parts.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// One reverse sweep over the nodes that existed when it began. Ids are a
// topological order, since a builder's node reads only earlier nodes.
class ReverseSweep {
 public:
  ReverseSweep(NameScope scope, Tensor loss, std::span<const Tensor> xs,
               double loss_scale, Tensor fed_scale)
      : scope_(std::move(scope)),
        builder_(scope_.builder()),
        loss_(loss),
        loss_scale_(loss_scale),
        fed_scale_(fed_scale),
        num_forward_(builder_.graph().num_nodes()),
        depends_on_x_(builder_.graph().num_values(), false),
        input_gradients_(num_forward_),
        gradients_(builder_.graph().num_values()) {
    for (const Tensor x : xs) depends_on_x_[x.id()] = true;
  }

  std::vector<Tensor> Run(std::span<const Tensor> xs) {
    MarkDependents();
    const NodeId last = builder_.graph().producer(loss_.id()).id;
    for (int32_t i = last.value(); i >= 0; --i) {
      std::vector<Tensor> gradients = SumOutputs(NodeId(i));
      absl::Status status = Differentiate(NodeId(i), std::move(gradients));
      builder_.Fail(Annotate(status, builder_.graph().node(NodeId(i)).name));
      if (!builder_.status().ok()) return std::vector<Tensor>(xs.size());
    }
    if (!without_gradient_.is_empty()) {
      builder_.Fail(InvalidArgument(fmt::format(
          "ops without a gradient lie between the loss and what it is "
          "differentiated by: {}",
          without_gradient_.ToString())));
    }
    std::vector<Tensor> results;
    for (const Tensor x : xs) results.push_back(gradients_[x.id()]);
    return results;
  }

 private:
  const Node& node(NodeId id) const { return builder_.graph().node(id); }

  bool DependsOnX(const Node& node) const {
    for (const ValueId input : node.inputs) {
      if (depends_on_x_[input]) return true;
    }
    return false;
  }

  void MarkDependents() {
    for (const Node& node : builder_.graph().nodes()) {
      if (!DependsOnX(node)) continue;
      for (const ValueId output : node.outputs) depends_on_x_[output] = true;
    }
  }

  // Gradients of the outputs of `id`; all uses of the outputs have been
  // visited.
  std::vector<Tensor> SumOutputs(NodeId id) {
    const std::vector<ValueId> outputs = node(id).outputs;  // Sum adds nodes
    std::vector<Tensor> gradients;
    for (const ValueId output : outputs) {
      if (depends_on_x_[output]) gradients_[output] = Sum(output);
      gradients.push_back(gradients_[output]);
    }
    return gradients;
  }

  // d loss / d value: the sum over its uses; invalid if no use has a gradient.
  Tensor Sum(ValueId value) {
    const Graph& graph = builder_.graph();
    const NameScope scope = scope_.Scope(graph.producer(value).name);
    std::vector<Tensor> terms;
    if (value == loss_.id()) terms.push_back(LossScale(scope));
    for (const Use& use : graph.uses(value)) {
      if (use.node.index() >= num_forward_) continue;
      const std::vector<Tensor>& inputs = input_gradients_[use.node];
      if (inputs.empty()) continue;
      const Tensor term = inputs[static_cast<size_t>(use.slot)];
      if (term.is_valid()) terms.push_back(term);
    }
    if (terms.empty()) return Tensor();
    if (terms.size() == 1) return terms.front();
    return builder_.Add(scope, {.op = "AddN", .inputs = std::move(terms)});
  }

  Tensor LossScale(const NameScope& scope) {
    if (fed_scale_.is_valid()) return fed_scale_;
    return builder_.Add(scope, {.op = std::string(kConst),
                                .attributes = {{"dtype", DType::kFloat32},
                                               {"shape", Shape()},
                                               {"value", loss_scale_}}});
  }

  // Fills input_gradients_[id] if a gradient reaches the node and the node
  // depends on x.
  absl::Status Differentiate(NodeId id, std::vector<Tensor> output_gradients) {
    bool is_reached = false;
    for (const Tensor gradient : output_gradients) {
      is_reached = is_reached || gradient.is_valid();
    }
    if (!is_reached || !DependsOnX(node(id))) return absl::OkStatus();
    const OpDef* def = builder_.registry().Find(node(id).op);
    if (def != nullptr && def->gradient == nullptr) {
      without_gradient_.Add(node(id).op, node(id).name);
      return absl::OkStatus();
    }
    if (def != nullptr && !def->part_inputs.empty() &&
        node(id).attributes.contains(kParts)) {
      return InvalidArgument(fmt::format(
          "{} reads parts of values, so it has no gradient: graph passes make "
          "such nodes when the gradients exist",
          node(id).name));
    }
    std::vector<bool> wanted;
    for (const ValueId input : node(id).inputs) {
      wanted.push_back(depends_on_x_[input]);
    }
    SPILLWAY_ASSIGN_OR_RETURN(
        input_gradients_[id],
        OpGradients(scope_.Scope(node(id).name), id,
                    std::move(output_gradients), std::move(wanted)));
    return absl::OkStatus();
  }

  const NameScope scope_;
  GraphBuilder& builder_;
  const Tensor loss_;
  const double loss_scale_;
  const Tensor fed_scale_;  // invalid: loss_scale_
  const size_t num_forward_;
  IdMap<ValueId, bool> depends_on_x_;  // over data edges; x itself does
  IdMap<NodeId, std::vector<Tensor>> input_gradients_;
  IdMap<ValueId, Tensor> gradients_;
  OpTally without_gradient_;  // that a gradient reaches
};

// The gradients of a plan-only node: what a node may read that computes them
// for all wanted inputs of reals, an upper bound of memory.
std::vector<Tensor> PlanOnlyGradients(const NameScope& scope, NodeId forward,
                                      const std::vector<Tensor>& dy,
                                      const std::vector<bool>& wanted) {
  GraphBuilder& builder = scope.builder();
  const Graph& graph = builder.graph();
  const Node& node = graph.node(forward);
  OpSpec spec = {.op = fmt::format("{}Grad", node.op),
                 .outputs = std::vector<TensorType>()};
  for (const ValueId input : node.inputs) {
    spec.inputs.emplace_back(&builder, input);
  }
  for (const ValueId output : node.outputs) {
    spec.inputs.emplace_back(&builder, output);
  }
  for (const Tensor gradient : dy) {
    if (gradient.is_valid()) spec.inputs.push_back(gradient);
  }
  std::vector<size_t> slots;  // of the inputs that have a gradient
  for (size_t slot = 0; slot < wanted.size(); ++slot) {
    const TensorType& type = graph.type(node.inputs[slot]);
    if (!wanted[slot] || !IsFloating(type.dtype)) continue;
    spec.outputs->push_back(type);
    slots.push_back(slot);
  }
  std::vector<Tensor> gradients(wanted.size());
  if (slots.empty()) return gradients;
  const std::vector<Tensor> added = builder.AddAll(scope, std::move(spec));
  for (size_t i = 0; i < added.size(); ++i) gradients[slots[i]] = added[i];
  return gradients;
}

// Calls the op's own function, which may be user code.
absl::StatusOr<std::vector<Tensor>> CallGradient(const OpDef& def,
                                                 GradientContext& context) {
  try {
    return def.gradient(context);
  } catch (const std::exception& error) {
    return Internal(
        fmt::format("the gradient of {} threw: {}", def.name, error.what()));
  } catch (...) {
    return Internal(fmt::format("the gradient of {} threw", def.name));
  }
}

// Checks that each gradient has the type of its input.
absl::Status CheckTypes(const GraphBuilder& builder, const Node& forward,
                        std::span<const Tensor> gradients) {
  if (gradients.size() != forward.inputs.size()) {
    return Internal(fmt::format("{} has {} and {}", forward.op,
                                Counted(forward.inputs.size(), "input"),
                                Counted(gradients.size(), "gradient")));
  }
  for (size_t slot = 0; slot < gradients.size(); ++slot) {
    const Tensor gradient = gradients[slot];
    if (!gradient.is_valid()) continue;
    if (!gradient.is_of(builder)) {
      return Internal(
          fmt::format("{} makes a gradient for input {} that belongs to "
                      "another GraphBuilder",
                      forward.op, slot));
    }
    const TensorType& expected = builder.graph().type(forward.inputs[slot]);
    if (gradient.type() != expected) {
      return Internal(fmt::format(
          "{} makes a gradient of type {} for input {}, which is "
          "{}",
          forward.op, gradient.type().ToString(), slot, expected.ToString()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckArguments(const NameScope& scope, Tensor loss,
                            std::span<const Tensor> xs) {
  const auto is_ours = [&](Tensor tensor) {
    return tensor.is_of(scope.builder());
  };
  if (!is_ours(loss)) {
    return InvalidArgument(
        fmt::format("gradients in '{}': the loss is not a tensor of this graph",
                    scope.name()));
  }
  const TensorType scalar = {.dtype = DType::kFloat32, .shape = Shape()};
  if (loss.type() != scalar) {
    return InvalidArgument(fmt::format(
        "{}: a loss must be a float32 scalar, not {}",
        scope.builder().graph().ValueName(loss), loss.type().ToString()));
  }
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!is_ours(xs[i])) {
      return InvalidArgument(fmt::format(
          "gradients in '{}': tensor {} to differentiate by is not of this "
          "graph",
          scope.name(), i));
    }
  }
  return absl::OkStatus();
}

}  // namespace

GradientContext::GradientContext(NameScope scope, NodeId forward,
                                 std::vector<Tensor> output_gradients,
                                 std::vector<bool> wanted)
    : scope_(std::move(scope)),
      forward_(forward),
      attributes_(scope_.builder().graph().node(forward).attributes),
      output_gradients_(std::move(output_gradients)),
      wanted_(std::move(wanted)) {}

int GradientContext::num_inputs() const {
  return static_cast<int>(wanted_.size());
}

int GradientContext::num_outputs() const {
  return static_cast<int>(output_gradients_.size());
}

bool GradientContext::IsInside(int index, size_t size, const char* what) const {
  if (index >= 0 && static_cast<size_t>(index) < size) return true;
  const Node& forward = scope_.builder().graph().node(forward_);
  scope_.builder().Fail(
      Internal(fmt::format("{}: the gradient of {} asks for {} {} of {}",
                           forward.name, forward.op, what, index, size)));
  return false;
}

bool GradientContext::wants(int input) const {
  return IsInside(input, wanted_.size(), "input") &&
         wanted_[static_cast<size_t>(input)];
}

Tensor GradientContext::x(int input) const {
  if (!IsInside(input, wanted_.size(), "input")) return Tensor();
  const Node& forward = scope_.builder().graph().node(forward_);
  return {&scope_.builder(), forward.inputs[static_cast<size_t>(input)]};
}

Tensor GradientContext::y(int output) const {
  if (!IsInside(output, output_gradients_.size(), "output")) return Tensor();
  return {&scope_.builder(), scope_.builder().graph().output(forward_, output)};
}

Tensor GradientContext::dy(int output) const {
  if (!IsInside(output, output_gradients_.size(), "output")) return Tensor();
  return output_gradients_[static_cast<size_t>(output)];
}

Tensor GradientContext::Add(std::string op, std::vector<Tensor> inputs,
                            Attributes attributes) {
  return scope_.builder().Add(scope_, {.op = std::move(op),
                                       .inputs = std::move(inputs),
                                       .attributes = std::move(attributes)});
}

std::vector<Tensor> GradientContext::AddAll(std::string op,
                                            std::vector<Tensor> inputs,
                                            Attributes attributes) {
  return scope_.builder().AddAll(scope_, {.op = std::move(op),
                                          .inputs = std::move(inputs),
                                          .attributes = std::move(attributes)});
}

absl::StatusOr<std::vector<Tensor>> OpGradients(
    const NameScope& scope, NodeId forward,
    std::vector<Tensor> output_gradients, std::vector<bool> wanted) {
  GraphBuilder& builder = scope.builder();
  SPILLWAY_RETURN_IF_ERROR(builder.status());
  const OpDef* def = builder.registry().Find(builder.graph().node(forward).op);
  if (def == nullptr) {
    std::vector<Tensor> gradients =
        PlanOnlyGradients(scope, forward, output_gradients, wanted);
    SPILLWAY_RETURN_IF_ERROR(builder.status());
    return gradients;
  }
  if (def->gradient == nullptr) {
    return InvalidArgument(
        fmt::format("{} is not differentiable, but lies between the loss and "
                    "what it is differentiated by",
                    def->name));
  }
  GradientContext context(scope, forward, std::move(output_gradients),
                          std::move(wanted));
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<Tensor> gradients,
                            CallGradient(*def, context));
  SPILLWAY_RETURN_IF_ERROR(builder.status());
  SPILLWAY_RETURN_IF_ERROR(
      CheckTypes(builder, builder.graph().node(forward), gradients));
  return gradients;
}

std::vector<Tensor> AddGradients(const NameScope& scope, Tensor loss,
                                 std::span<const Tensor> xs, double loss_scale,
                                 Tensor fed_scale) {
  GraphBuilder& builder = scope.builder();
  if (builder.status().ok()) builder.Fail(CheckArguments(scope, loss, xs));
  if (!builder.status().ok()) return std::vector<Tensor>(xs.size());
  return ReverseSweep(scope, loss, xs, loss_scale, fed_scale).Run(xs);
}

}  // namespace spillway
