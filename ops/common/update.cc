#include "ops/common/update.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string_view>

#include "base/status_macros.h"
#include "graph/input_groups.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway {
namespace {

constexpr double kMostFloat = std::numeric_limits<float>::max();

absl::Status CheckInput(std::string_view name, const TensorType& type,
                        const TensorType& variable) {
  if (name == "beta_power") {
    return ExpectType(name, type, {.shape = {2}},
                      "the powers of beta1 and beta2");
  }
  return ExpectType(name, type, variable, "variable");
}

// `inputs`: those of one group, which come first in `def`.
absl::Status CheckGroup(const OpDef& def, std::span<const TensorType> inputs) {
  const TensorType& variable = inputs[0];
  SPILLWAY_RETURN_IF_ERROR(ExpectDType("variable", variable, DType::kFloat32));
  for (size_t i = 1; i < inputs.size(); ++i) {
    SPILLWAY_RETURN_IF_ERROR(CheckInput(def.inputs[i], inputs[i], variable));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TensorType>> Infer(const InferContext& node,
                                              const OpDef& def,
                                              const Shape& shared) {
  const auto each = static_cast<size_t>(def.group_inputs);
  const int groups = NumGroups(def, node.inputs.size());
  std::vector<TensorType> outputs;
  for (int group = 0; group < groups; ++group) {
    const std::span<const TensorType> inputs =
        node.inputs.subspan(static_cast<size_t>(group) * each, each);
    const absl::Status valid = CheckGroup(def, inputs);
    if (groups == 1) SPILLWAY_RETURN_IF_ERROR(valid);
    SPILLWAY_RETURN_IF_ERROR(Annotate(valid, fmt::format("group {}", group)));
    outputs.push_back(inputs[0]);
  }
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType(def.inputs.back(), node.inputs.back(), {.shape = shared},
                 shared.rank() == 0 ? "a number" : "a pair of numbers"));
  return outputs;
}

OpCost Cost(const OpContext& node, double flops_per_element, bool needs_norms) {
  OpCost cost = {.bytes = TouchedBytes(node)};
  for (const TensorType& variable : node.outputs) {
    cost.flops +=
        flops_per_element * static_cast<double>(variable.num_elements());
    if (needs_norms) cost.bytes += 2 * variable.num_bytes();
  }
  return cost;
}

// The schema without infer and cost.
OpDef WithoutFunctions(const UpdateSchema& schema) {
  OpDef def = {.name = schema.name,
               .inputs = {"variable"},
               .outputs = {"updated"},
               .attributes = schema.attributes,
               .alias = {{.input = 0, .output = 0}},
               .mutates = {0}};
  for (const std::string& slot : schema.slots) {
    def.mutates.push_back(static_cast<int>(def.inputs.size()));
    def.inputs.push_back(slot);
  }
  def.inputs.emplace_back("gradient");
  def.group_inputs = static_cast<int>(def.inputs.size());
  def.inputs.push_back(schema.shared);
  if (schema.has_gradient_rule) {
    def.attributes.emplace_back("gradient_scale");
    def.attributes.emplace_back("weight_decay");
  }
  return def;
}

}  // namespace

OpDef UpdateDef(const UpdateSchema& schema) {
  OpDef def = WithoutFunctions(schema);
  def.infer =
      [signature = def, check = schema.check, shared = schema.shared_shape](
          const InferContext& node) -> absl::StatusOr<std::vector<TensorType>> {
    if (check != nullptr) SPILLWAY_RETURN_IF_ERROR(check(node.attributes));
    return Infer(node, signature, shared);
  };
  def.cost = [flops = schema.flops_per_element,
              needs_norms = schema.needs_norms](const OpContext& node) {
    return Cost(node, flops, needs_norms);
  };
  return def;
}

absl::StatusOr<GradientRule> ReadGradientRule(const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const double scale,
                            attributes.GetReal("gradient_scale", 1));
  SPILLWAY_ASSIGN_OR_RETURN(const double decay,
                            attributes.GetReal("weight_decay", 0));
  const GradientRule rule = {.scale = static_cast<float>(scale),
                             .weight_decay = static_cast<float>(decay)};
  if (rule.scale > 0 && std::isfinite(rule.scale)) return rule;
  return InvalidArgument(fmt::format(
      "attribute 'gradient_scale' must be a positive float32; it is {}",
      scale));
}

absl::StatusOr<MomentumRule> ReadMomentumRule(const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const double momentum,
                            GetRealIn(attributes, "momentum", 0.9, 0, 1));
  SPILLWAY_ASSIGN_OR_RETURN(const bool nesterov,
                            attributes.GetBool("use_nesterov", false));
  SPILLWAY_ASSIGN_OR_RETURN(const GradientRule gradient,
                            ReadGradientRule(attributes));
  return MomentumRule{.gradient = gradient,
                      .momentum = static_cast<float>(momentum),
                      .use_nesterov = nesterov};
}

absl::StatusOr<VelocityRule> ReadVelocityRule(const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const MomentumRule rule,
                            ReadMomentumRule(attributes));
  return VelocityRule{.gradient = rule.gradient,
                      .momentum = rule.momentum,
                      .use_nesterov = rule.use_nesterov};
}

absl::StatusOr<LarsRule> ReadLarsRule(const Attributes& attributes) {
  // It has no Nesterov's form: the schema refuses the attribute.
  SPILLWAY_ASSIGN_OR_RETURN(const VelocityRule velocity,
                            ReadVelocityRule(attributes));
  SPILLWAY_ASSIGN_OR_RETURN(const double eta,
                            GetRealIn(attributes, "eta", 1e-3, 0, kMostFloat));
  SPILLWAY_ASSIGN_OR_RETURN(
      const double epsilon,
      GetRealIn(attributes, "epsilon", 1e-8, 0, kMostFloat));
  SPILLWAY_ASSIGN_OR_RETURN(const std::string form,
                            attributes.GetString("form", "corrected"));
  if (form != "corrected" && form != "lbsgd") {
    return InvalidArgument(fmt::format(
        "attribute 'form' must be 'corrected' or 'lbsgd'; it is '{}'", form));
  }
  return LarsRule{.velocity = velocity,
                  .eta = static_cast<float>(eta),
                  .epsilon = static_cast<float>(epsilon),
                  .is_lbsgd = form == "lbsgd"};
}

absl::StatusOr<AdagradRule> ReadAdagradRule(const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(
      const double epsilon,
      GetRealIn(attributes, "epsilon", 1e-6, 0, kMostFloat));
  SPILLWAY_ASSIGN_OR_RETURN(const GradientRule gradient,
                            ReadGradientRule(attributes));
  return AdagradRule{.gradient = gradient,
                     .epsilon = static_cast<float>(epsilon)};
}

absl::StatusOr<AdamRule> ReadAdamRule(const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const double beta1,
                            GetRealIn(attributes, "beta1", 0.9, 0, 1));
  SPILLWAY_ASSIGN_OR_RETURN(const double beta2,
                            GetRealIn(attributes, "beta2", 0.999, 0, 1));
  SPILLWAY_ASSIGN_OR_RETURN(
      const double epsilon,
      GetRealIn(attributes, "epsilon", 1e-8, 0, kMostFloat));
  SPILLWAY_ASSIGN_OR_RETURN(const double decoupled_decay,
                            attributes.GetReal("decoupled_weight_decay", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const GradientRule gradient,
                            ReadGradientRule(attributes));
  return AdamRule{
      .gradient = gradient,
      .beta1 = static_cast<float>(beta1),
      .beta2 = static_cast<float>(beta2),
      .epsilon = static_cast<float>(epsilon),
      .decoupled_weight_decay = static_cast<float>(decoupled_decay)};
}

absl::StatusOr<RmsPropRule> ReadRmsPropRule(const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const double decay,
                            GetRealIn(attributes, "decay", 0.9, 0, 1));
  SPILLWAY_ASSIGN_OR_RETURN(const double momentum,
                            GetRealIn(attributes, "momentum", 0, 0, 1));
  SPILLWAY_ASSIGN_OR_RETURN(
      const double epsilon,
      GetRealIn(attributes, "epsilon", 1e-10, 0, kMostFloat));
  SPILLWAY_ASSIGN_OR_RETURN(const GradientRule gradient,
                            ReadGradientRule(attributes));
  return RmsPropRule{.gradient = gradient,
                     .decay = static_cast<float>(decay),
                     .momentum = static_cast<float>(momentum),
                     .epsilon = static_cast<float>(epsilon)};
}

UpdateGroups GroupsOf(std::span<const TensorType> inputs,
                      std::span<const TensorType> outputs) {
  UpdateGroups groups = {.inputs_each = (inputs.size() - 1) / outputs.size()};
  for (const TensorType& variable : outputs) {
    groups.elements.push_back(variable.num_elements());
  }
  return groups;
}

}  // namespace spillway
