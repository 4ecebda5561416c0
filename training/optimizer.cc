#include "training/optimizer.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "graph/storage.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"
#include "training/variable_settings.h"
#include "training/variable_update.h"

namespace spillway {
namespace {

std::vector<Tensor> TrainableVariables(GraphBuilder& builder) {
  std::vector<Tensor> variables;
  for (const Node& node : builder.graph().nodes()) {
    if (node.op != kVariable) continue;
    const absl::StatusOr<bool> trainable =
        node.attributes.GetBool("trainable", true);
    builder.Fail(Annotate(trainable.status(), node.name));
    if (trainable.value_or(false)) {
      variables.emplace_back(&builder, node.outputs[0]);
    }
  }
  return variables;
}

std::vector<std::string> NamesOf(const GraphBuilder& builder,
                                 const std::vector<Tensor>& variables) {
  std::vector<std::string> names;
  names.reserve(variables.size());
  for (const Tensor variable : variables) {
    names.push_back(builder.graph().producer(variable.id()).name);
  }
  return names;
}

// The learning rate times each multiplier of a variable, as one tensor for each
// multiplier: updates of one rate may be fused.
class LearningRates {
 public:
  LearningRates(const NameScope& scope, Tensor rate) : scope_(scope) {
    rates_[1] = rate;
  }

  Tensor Times(double multiplier) {
    const auto [entry, is_new] = rates_.try_emplace(multiplier);
    if (is_new) entry->second = Multiplied(multiplier);
    return entry->second;
  }

 private:
  Tensor Multiplied(double multiplier) const {
    GraphBuilder& builder = scope_.builder();
    const Tensor factor =
        builder.Add(scope_, {.op = std::string(kConst),
                             .attributes = {{"dtype", DType::kFloat32},
                                            {"shape", Shape()},
                                            {"value", multiplier}},
                             .name = "rate_multiplier"});
    return builder.Add(scope_, {.op = "Mul",
                                .inputs = {rates_.at(1), factor},
                                .name = "multiplied_rate"});
  }

  NameScope scope_;
  std::map<double, Tensor> rates_;  // by multiplier
};

struct MinimizeContext {
  const NameScope& scope;
  const Optimizer& optimizer;
  const MinimizeOptions& options;
  const StorageMap& storages;  // before the updates
  LearningRates rates;
};

// The nodes that have to run before `variable` may change, as control inputs of
// its update: all that read its bytes, also through aliases. (The gradient's
// own producer is an input already.)
std::vector<Tensor> ReadersToWaitFor(const MinimizeContext& context,
                                     Tensor variable, Tensor gradient) {
  GraphBuilder& builder = context.scope.builder();
  const Graph& graph = builder.graph();
  std::set<NodeId> readers;
  for (const ValueId value : context.storages.of(variable.id()).values) {
    ForEachReader(graph, value, [&](NodeId reader) { readers.insert(reader); });
  }
  readers.erase(graph.producer(gradient.id()).id);
  std::vector<Tensor> result;
  result.reserve(readers.size());
  for (const NodeId reader : readers) {
    result.emplace_back(&builder, graph.output(reader));
  }
  return result;
}

// INVALID_ARGUMENT if another node already overwrites `variable`.
absl::Status CheckNotUpdated(const MinimizeContext& context, Tensor variable) {
  const Graph& graph = context.scope.builder().graph();
  const std::vector<NodeId>& overwriters =
      context.storages.of(variable.id()).overwriters;
  if (overwriters.empty()) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "{}: {} is updated already, by {}: minimize the sum of the losses "
      "instead",
      context.scope.name(), graph.producer(variable).name,
      graph.node(overwriters[0]).name));
}

void AddUpdate(MinimizeContext& context, Tensor variable, Tensor gradient) {
  GraphBuilder& builder = context.scope.builder();
  const std::string name = builder.graph().producer(variable.id()).name;
  const VariableSettings settings =
      SettingsOf(context.options, name, variable.shape());
  VariableUpdate update =
      MakeVariableUpdate(context.scope.Scope("slots").Scope(name), variable,
                         context.optimizer, settings);
  const double decay = context.options.weight_decay * settings.decay_multiplier;
  if (decay != 0) update.attributes.Set("weight_decay", decay);
  if (context.options.loss_scale != 1) {
    update.attributes.Set("gradient_scale", 1 / context.options.loss_scale);
  }
  std::vector<Tensor> inputs = {variable};
  inputs.insert(inputs.end(), update.slots.begin(), update.slots.end());
  inputs.push_back(gradient);
  inputs.push_back(context.rates.Times(settings.rate_multiplier));
  builder.Add(
      context.scope.Scope("update").Scope(name),
      {.op = std::move(update.op),
       .inputs = std::move(inputs),
       .attributes = std::move(update.attributes),
       .control_inputs = ReadersToWaitFor(context, variable, gradient)});
}

double OwnLearningRate(const Optimizer& optimizer) {
  return std::visit([](const auto& rule) { return rule.learning_rate; },
                    optimizer);
}

Tensor LearningRate(const NameScope& scope, const Optimizer& optimizer,
                    const MinimizeOptions& options) {
  if (options.learning_rate_feed.is_valid()) return options.learning_rate_feed;
  return scope.builder().Add(
      scope, {.op = std::string(kConst),
              .attributes = {{"dtype", DType::kFloat32},
                             {"shape", Shape()},
                             {"value", OwnLearningRate(optimizer)}},
              .name = "learning_rate"});
}

absl::Status CheckMinimize(const Optimizer& optimizer,
                           const MinimizeOptions& options,
                           const std::vector<std::string>& variables) {
  SPILLWAY_RETURN_IF_ERROR(
      CheckNotNegative(OwnLearningRate(optimizer), "learning rate"));
  SPILLWAY_RETURN_IF_ERROR(
      CheckNotNegative(options.weight_decay, "weight decay"));
  if (const auto* adamw = std::get_if<AdamW>(&optimizer)) {
    SPILLWAY_RETURN_IF_ERROR(
        CheckNotNegative(adamw->weight_decay, "weight decay"));
  }
  SPILLWAY_RETURN_IF_ERROR(CheckLossScale(options.loss_scale));
  return CheckVariableSettings(options, variables);
}

// The trainable variables that are to be updated, in order of creation.
std::vector<Tensor> VariablesToUpdate(const NameScope& scope,
                                      const Optimizer& optimizer,
                                      const MinimizeOptions& options) {
  GraphBuilder& builder = scope.builder();
  std::vector<Tensor> variables = TrainableVariables(builder);
  if (!builder.status().ok()) return {};
  const std::vector<std::string> names = NamesOf(builder, variables);
  builder.Fail(Annotate(CheckMinimize(optimizer, options, names),
                        std::string(scope.name())));
  std::erase_if(variables, [&](Tensor variable) {
    const std::string& name = builder.graph().producer(variable.id()).name;
    return SettingsOf(options, name, variable.shape()).is_frozen();
  });
  return variables;
}

}  // namespace

absl::StatusOr<Optimizer> ParseOptimizer(std::string_view name) {
  if (name == "sgd") return Sgd();
  if (name == "momentum") return Momentum();
  if (name == "velocity") return Velocity();
  if (name == "nesterov") return Velocity{.use_nesterov = true};
  if (name == "lars") return Lars();
  if (name == "adagrad") return AdaGrad();
  if (name == "adam") return Adam();
  if (name == "adamw") return AdamW();
  if (name == "rmsprop") return RmsProp();
  return InvalidArgument(
      fmt::format("there is no optimizer named '{}'; known: sgd momentum "
                  "velocity nesterov lars adagrad adam adamw rmsprop",
                  name));
}

absl::Status CheckLossScale(double loss_scale) {
  const auto scale = static_cast<float>(loss_scale);
  const float inverse = 1 / scale;
  if (scale > 0 && inverse > 0 && std::isfinite(scale) &&
      std::isfinite(inverse)) {
    return absl::OkStatus();
  }
  return InvalidArgument(fmt::format(
      "a loss scale must be positive and finite, not {}", loss_scale));
}

void Minimize(const NameScope& scope, Tensor loss, const Optimizer& optimizer,
              const MinimizeOptions& options) {
  GraphBuilder& builder = scope.builder();
  const std::vector<Tensor> variables =
      VariablesToUpdate(scope, optimizer, options);
  const std::vector<Tensor> gradients = AddGradients(
      scope.Scope("gradients"), loss, variables, options.loss_scale);
  if (!builder.status().ok()) return;

  const StorageMap storages =
      StorageMap::Of(builder.graph(), builder.registry());
  MinimizeContext context = {
      .scope = scope,
      .optimizer = optimizer,
      .options = options,
      .storages = storages,
      .rates = LearningRates(scope, LearningRate(scope, optimizer, options))};
  bool has_update = false;
  for (size_t i = 0; i < variables.size() && builder.status().ok(); ++i) {
    if (!gradients[i].is_valid()) continue;
    builder.Fail(CheckNotUpdated(context, variables[i]));
    if (!builder.status().ok()) return;
    AddUpdate(context, variables[i], gradients[i]);
    has_update = true;
  }
  if (!has_update) {
    builder.Fail(InvalidArgument(fmt::format(
        "{}: the loss depends on no trainable variable", scope.name())));
  }
}

}  // namespace spillway
