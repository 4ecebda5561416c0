#include "training/variable_updates.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "graph/storage.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"
#include "training/variable_settings.h"
#include "training/variable_update.h"
#include "training/workers/average_in_turn.h"
#include "training/workers/reduce_gradients.h"

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
  std::span<const VariableGradient> gradients;
  const Optimizer& optimizer;
  const MinimizeOptions& options;
  const StorageMap& storages;      // before the updates
  std::span<const Tensor> before;  // of all updates
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
  if (!context.options.fused_update) {
    for (const VariableGradient& other : context.gradients) {
      readers.insert(graph.producer(other.gradient.id()).id);
    }
  }
  for (const Tensor each : context.before) {
    readers.insert(graph.producer(each.id()).id);
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

VariableAfterUpdate AddUpdate(MinimizeContext& context, Tensor variable,
                              Tensor gradient) {
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
  const Tensor updated = builder.Add(
      context.scope.Scope("update").Scope(name),
      {.op = std::move(update.op),
       .inputs = std::move(inputs),
       .attributes = std::move(update.attributes),
       .control_inputs = ReadersToWaitFor(context, variable, gradient)});
  return {.gradient = gradient,
          .updated = updated,
          .slots = std::move(update.slots)};
}

// Of gradients that have the loss scale.
GradientReduction Scaled(GradientReduction reduction, double loss_scale) {
  if (reduction.sparse) reduction.sparse->min_magnitude *= loss_scale;
  return reduction;
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

// The gradients as the options clip them.
std::vector<VariableGradient> Clipped(
    const NameScope& scope, std::span<const VariableGradient> gradients,
    Tensor square_sum, const MinimizeOptions& options) {
  GraphBuilder& builder = scope.builder();
  std::vector<VariableGradient> clipped(gradients.begin(), gradients.end());
  const NameScope clip = scope.Scope("clip");
  if (options.clip_norm > 0) {
    const Tensor factor =
        builder.Add(clip, {.op = "NormFactor",
                           .inputs = {square_sum},
                           .attributes = {{"max_norm", options.clip_norm},
                                          {"scale", 1 / options.loss_scale}},
                           .name = "factor"});
    for (VariableGradient& each : clipped) {
      each.gradient =
          builder.Add(clip, {.op = "Mul", .inputs = {each.gradient, factor}});
    }
  }
  if (options.clip_value > 0) {
    const double limit = options.clip_value * options.loss_scale;
    for (VariableGradient& each : clipped) {
      each.gradient = builder.Add(clip, {.op = "ClipByValue",
                                         .inputs = {each.gradient},
                                         .attributes = {{"limit", limit}}});
    }
  }
  return clipped;
}

absl::Status CheckRule(const Optimizer& optimizer,
                       const MinimizeOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(
      CheckNotNegative(OwnLearningRate(optimizer), "learning rate"));
  if (const auto* adamw = std::get_if<AdamW>(&optimizer)) {
    SPILLWAY_RETURN_IF_ERROR(
        CheckNotNegative(adamw->weight_decay, "weight decay"));
  }
  SPILLWAY_RETURN_IF_ERROR(
      CheckNotNegative(options.weight_decay, "weight decay"));
  SPILLWAY_RETURN_IF_ERROR(
      CheckNotNegative(options.clip_norm, "norm to clip at"));
  SPILLWAY_RETURN_IF_ERROR(
      CheckNotNegative(options.clip_value, "value to clip at"));
  return CheckLossScale(options.loss_scale);
}

absl::Status CheckOptions(const MinimizeOptions& options,
                          const std::vector<std::string>& variables) {
  SPILLWAY_RETURN_IF_ERROR(CheckLossScale(options.loss_scale));
  return CheckVariableSettings(options, variables);
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

// The trainable variables that the options do not freeze, in order of creation.
std::vector<Tensor> VariablesToTrain(const NameScope& scope,
                                     const MinimizeOptions& options) {
  GraphBuilder& builder = scope.builder();
  std::vector<Tensor> variables = TrainableVariables(builder);
  if (!builder.status().ok()) return {};
  builder.Fail(Annotate(CheckOptions(options, NamesOf(builder, variables)),
                        std::string(scope.name())));
  std::erase_if(variables, [&](Tensor variable) {
    const std::string& name = builder.graph().producer(variable.id()).name;
    return SettingsOf(options, name, variable.shape()).is_frozen();
  });
  return variables;
}

}  // namespace

std::vector<VariableGradient> GradientsToApply(const NameScope& scope,
                                               Tensor loss,
                                               const MinimizeOptions& options,
                                               Tensor fed_scale) {
  const std::vector<Tensor> variables = VariablesToTrain(scope, options);
  const std::vector<Tensor> gradients = AddGradients(
      scope.Scope("gradients"), loss, variables, options.loss_scale, fed_scale);
  if (!scope.builder().status().ok()) return {};
  std::vector<VariableGradient> found;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (gradients[i].is_valid()) found.push_back({variables[i], gradients[i]});
  }
  return found;
}

void RequireGradients(const NameScope& scope,
                      std::span<const VariableGradient> gradients) {
  if (!gradients.empty()) return;
  scope.builder().Fail(InvalidArgument(fmt::format(
      "{}: the loss depends on no trainable variable", scope.name())));
}

Tensor SquareSumOf(const NameScope& scope,
                   std::span<const VariableGradient> gradients) {
  GraphBuilder& builder = scope.builder();
  const NameScope norm = scope.Scope("norm");
  std::vector<Tensor> sums;
  for (const VariableGradient& each : gradients) {
    sums.push_back(
        builder.Add(norm, {.op = "SquareSum", .inputs = {each.gradient}}));
  }
  if (sums.size() == 1) return sums[0];
  return builder.Add(norm, {.op = "AddN", .inputs = std::move(sums)});
}

Tensor ReduceAndUpdate(const NameScope& scope,
                       std::span<const VariableGradient> own,
                       const Optimizer& optimizer,
                       const MinimizeOptions& options) {
  GraphBuilder& builder = scope.builder();
  builder.Fail(
      Annotate(CheckRule(optimizer, options), std::string(scope.name())));
  RequireGradients(scope, own);
  if (!builder.status().ok()) return {};
  ReducedGradients reduced = {.gradients = {own.begin(), own.end()}};
  if (options.reduction) {
    reduced = ReduceGradients(scope, own,
                              Scaled(*options.reduction, options.loss_scale));
    if (!builder.status().ok()) return {};
  }
  const std::vector<VariableGradient>& unclipped = reduced.gradients;
  Tensor square_sum;
  if (options.sums_squares || options.clip_norm > 0) {
    square_sum = SquareSumOf(scope, unclipped);
  }
  const std::vector<VariableGradient> gradients =
      Clipped(scope, unclipped, square_sum, options);
  if (!builder.status().ok()) return {};
  const StorageMap storages =
      StorageMap::Of(builder.graph(), builder.registry());
  MinimizeContext context = {
      .scope = scope,
      .gradients = gradients,
      .optimizer = optimizer,
      .options = options,
      .storages = storages,
      .before = reduced.before_updates,
      .rates = LearningRates(scope, LearningRate(scope, optimizer, options))};
  std::vector<VariableAfterUpdate> updated;
  for (const auto& [variable, gradient] : gradients) {
    builder.Fail(CheckNotUpdated(context, variable));
    if (!builder.status().ok()) return {};
    updated.push_back(AddUpdate(context, variable, gradient));
  }
  if (options.averaging && builder.status().ok()) {
    AverageInTurn(scope, updated, *options.averaging);
  }
  return options.sums_squares ? square_sum : Tensor();
}

}  // namespace spillway
