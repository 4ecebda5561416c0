#include "training/variable_update.h"

#include <variant>

#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// A variable, and how to make its slots, under <scope>/slots/<variable>/.
class UpdatedVariable {
 public:
  UpdatedVariable(const NameScope& scope, Tensor variable,
                  const VariableSettings& settings)
      : scope_(scope), shape_(variable.shape()), settings_(settings) {}

  const VariableSettings& settings() const { return settings_; }

  // Shaped like the variable, zero at first.
  Tensor Zeros(const char* name) const { return Make(name, shape_, "zeros"); }
  Tensor Ones(const char* name, const Shape& shape) const {
    return Make(name, shape, "ones");
  }

 private:
  Tensor Make(const char* name, const Shape& shape, const char* kind) const {
    return scope_.builder().Add(
        scope_,
        {.op = std::string(kVariable),
         .attributes = {{"dtype", DType::kFloat32},
                        {"shape", shape},
                        {"initializer", AttributeValue::Object{{"kind", kind}}},
                        {"trainable", false}},
         .name = name});
  }

  NameScope scope_;
  Shape shape_;
  VariableSettings settings_;
};

VariableUpdate Make(const Sgd&, const UpdatedVariable&) {
  return {.op = "ApplyGradientDescent", .slots = {}, .attributes = {}};
}

VariableUpdate Make(const Momentum& rule, const UpdatedVariable& variable) {
  return {.op = "ApplyMomentum",
          .slots = {variable.Zeros("momentum")},
          .attributes = {{"momentum", rule.momentum},
                         {"use_nesterov", rule.use_nesterov}}};
}

VariableUpdate Make(const Velocity& rule, const UpdatedVariable& variable) {
  return {.op = "ApplyVelocity",
          .slots = {variable.Zeros("velocity")},
          .attributes = {{"momentum", rule.momentum},
                         {"use_nesterov", rule.use_nesterov}}};
}

VariableUpdate Make(const Lars& rule, const UpdatedVariable& variable) {
  if (rule.form == LarsForm::kLbsgd) {
    return {.op = "ApplyLars",
            .slots = {variable.Zeros("velocity")},
            .attributes = {{"momentum", rule.momentum}, {"form", "lbsgd"}}};
  }
  if (!variable.settings().decays) {
    return Make(Velocity{.momentum = rule.momentum}, variable);
  }
  return {.op = "ApplyLars",
          .slots = {variable.Zeros("velocity")},
          .attributes = {{"momentum", rule.momentum},
                         {"eta", rule.eta},
                         {"epsilon", rule.epsilon}}};
}

VariableUpdate Make(const AdaGrad& rule, const UpdatedVariable& variable) {
  return {.op = "ApplyAdagrad",
          .slots = {variable.Zeros("accumulator")},
          .attributes = {{"epsilon", rule.epsilon}}};
}

VariableUpdate Make(const Adam& rule, const UpdatedVariable& variable) {
  const Tensor m = variable.Zeros("m");
  const Tensor v = variable.Zeros("v");
  const Tensor beta_power = variable.Ones("beta_power", {2});
  return {.op = "ApplyAdam",
          .slots = {m, v, beta_power},
          .attributes = {{"beta1", rule.beta1},
                         {"beta2", rule.beta2},
                         {"epsilon", rule.epsilon}}};
}

VariableUpdate Make(const AdamW& rule, const UpdatedVariable& variable) {
  VariableUpdate update = Make(
      Adam{.beta1 = rule.beta1, .beta2 = rule.beta2, .epsilon = rule.epsilon},
      variable);
  const double decay = rule.weight_decay * variable.settings().decay_multiplier;
  if (decay != 0) update.attributes.Set("decoupled_weight_decay", decay);
  return update;
}

VariableUpdate Make(const RmsProp& rule, const UpdatedVariable& variable) {
  const Tensor mean_square = variable.Zeros("mean_square");
  const Tensor momentum = variable.Zeros("momentum");
  return {.op = "ApplyRMSProp",
          .slots = {mean_square, momentum},
          .attributes = {{"decay", rule.decay},
                         {"momentum", rule.momentum},
                         {"epsilon", rule.epsilon}}};
}

}  // namespace

VariableUpdate MakeVariableUpdate(const NameScope& scope, Tensor variable,
                                  const Optimizer& optimizer,
                                  const VariableSettings& settings) {
  const UpdatedVariable updated(scope, variable, settings);
  return std::visit([&](const auto& rule) { return Make(rule, updated); },
                    optimizer);
}

}  // namespace spillway
