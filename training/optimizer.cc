#include "training/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "graph/storage.h"
#include "graph/traverse.h"
#include "graph/well_known_ops.h"

namespace spillway {
namespace {

// The update of one variable: the op, its inputs between variable and gradient,
// and its attributes.
struct Update {
  std::string op;
  std::vector<Tensor> slots;
  Attributes attributes;
};

// Slots of one variable, under <scope>/slots/<variable>/.
class SlotMaker {
 public:
  SlotMaker(const NameScope& scope, Tensor variable)
      : scope_(scope), shape_(variable.shape()) {}

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
};

Update MakeUpdate(const Sgd&, const SlotMaker&) {
  return {.op = "ApplyGradientDescent", .slots = {}, .attributes = {}};
}

Update MakeUpdate(const Momentum& rule, const SlotMaker& slots) {
  return {.op = "ApplyMomentum",
          .slots = {slots.Zeros("momentum")},
          .attributes = {{"momentum", rule.momentum},
                         {"use_nesterov", rule.use_nesterov}}};
}

Update MakeUpdate(const Adam& rule, const SlotMaker& slots) {
  const Tensor m = slots.Zeros("m");
  const Tensor v = slots.Zeros("v");
  const Tensor beta_power = slots.Ones("beta_power", {2});
  return {.op = "ApplyAdam",
          .slots = {m, v, beta_power},
          .attributes = {{"beta1", rule.beta1},
                         {"beta2", rule.beta2},
                         {"epsilon", rule.epsilon}}};
}

Update MakeUpdate(const RmsProp& rule, const SlotMaker& slots) {
  const Tensor mean_square = slots.Zeros("mean_square");
  const Tensor momentum = slots.Zeros("momentum");
  return {.op = "ApplyRMSProp",
          .slots = {mean_square, momentum},
          .attributes = {{"decay", rule.decay},
                         {"momentum", rule.momentum},
                         {"epsilon", rule.epsilon}}};
}

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

struct MinimizeContext {
  const NameScope& scope;
  const Optimizer& optimizer;
  const StorageMap& storages;  // before the updates
  double weight_decay = 0;
  double loss_scale = 1;
  Tensor learning_rate;
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

void AddUpdate(const MinimizeContext& context, Tensor variable,
               Tensor gradient) {
  GraphBuilder& builder = context.scope.builder();
  const std::string name = builder.graph().producer(variable.id()).name;
  const SlotMaker slots(context.scope.Scope("slots").Scope(name), variable);
  Update update =
      std::visit([&](const auto& rule) { return MakeUpdate(rule, slots); },
                 context.optimizer);
  if (variable.shape().rank() >= 2 && context.weight_decay != 0) {
    update.attributes.Set("weight_decay", context.weight_decay);
  }
  if (context.loss_scale != 1) {
    update.attributes.Set("gradient_scale", 1 / context.loss_scale);
  }
  std::vector<Tensor> inputs = {variable};
  inputs.insert(inputs.end(), update.slots.begin(), update.slots.end());
  inputs.push_back(gradient);
  inputs.push_back(context.learning_rate);
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

// For learning rates and decays: with a negative one, the loss would increase.
absl::Status CheckNotNegative(double value, const char* what) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("a {} must be 0 or more and finite, not {}", what, value));
}

absl::Status CheckMinimize(const Optimizer& optimizer,
                           const MinimizeOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(
      CheckNotNegative(OwnLearningRate(optimizer), "learning rate"));
  SPILLWAY_RETURN_IF_ERROR(
      CheckNotNegative(options.weight_decay, "weight decay"));
  return CheckLossScale(options.loss_scale);
}

}  // namespace

absl::StatusOr<Optimizer> ParseOptimizer(std::string_view name) {
  if (name == "sgd") return Sgd();
  if (name == "momentum") return Momentum();
  if (name == "adam") return Adam();
  if (name == "rmsprop") return RmsProp();
  return InvalidArgument(fmt::format(
      "there is no optimizer named '{}'; known: sgd momentum adam rmsprop",
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
  if (builder.status().ok()) {
    builder.Fail(
        Annotate(CheckMinimize(optimizer, options), std::string(scope.name())));
  }
  const std::vector<Tensor> variables = TrainableVariables(builder);
  const std::vector<Tensor> gradients = AddGradients(
      scope.Scope("gradients"), loss, variables, options.loss_scale);
  if (!builder.status().ok()) return;

  const StorageMap storages =
      StorageMap::Of(builder.graph(), builder.registry());
  const MinimizeContext context = {
      .scope = scope,
      .optimizer = optimizer,
      .storages = storages,
      .weight_decay = options.weight_decay,
      .loss_scale = options.loss_scale,
      .learning_rate = LearningRate(scope, optimizer, options)};
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
