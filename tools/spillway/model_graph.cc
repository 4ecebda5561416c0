#include "tools/spillway/model_graph.h"

#include <array>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "models/layers/layers.h"
#include "ops/all_ops.h"

namespace spillway {
namespace {

// The scale of tf_cnn_benchmarks.
constexpr double kFloat16LossScale = 128;

// Runs the passes; keeps every value that `step` names.
absl::Status Optimize(const ModelGraphSpec& spec, StepGraph& step) {
  ModelGraph& model = step.model;
  const std::array<Tensor*, 12> tensors = {
      &model.images,         &model.labels,  &model.targets,    &model.features,
      &model.logits,         &model.loss,    &model.correct,    &model.accuracy,
      &model.top_5_accuracy, &step.in_top_k, &step.rank_weight, &step.turn};
  std::vector<ValueId> keep;
  for (const Tensor* tensor : tensors) {
    if (tensor->is_valid()) keep.push_back(tensor->id());
  }
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<Pass> passes,
                            SelectPasses(spec.passes, spec.target));
  SPILLWAY_ASSIGN_OR_RETURN(OptimizedGraph result,
                            RunPasses(step.graph, StandardOps(), passes, keep));
  for (Tensor* tensor : tensors) {
    if (!tensor->is_valid()) continue;
    *tensor = Tensor(result.graph, result.at(tensor->id()));
  }
  step.graph = std::move(result.graph);
  return absl::OkStatus();
}

// As the training programs have it (training/loop/training_programs.cc).
void AddExchange(const RankExchange& exchange, GraphBuilder& g, StepGraph& step,
                 MinimizeOptions& options) {
  step.rank_weight = g.Placeholder("gradient_weight", DType::kFloat32, {});
  if (!exchange.partial) {
    options.reduction = {.weight = step.rank_weight,
                         .buckets = exchange.buckets,
                         .wire = exchange.wire,
                         .sparse = exchange.sparse};
    return;
  }
  step.turn = g.Placeholder("turn", DType::kInt32, {});
  options.averaging = {.turn = step.turn,
                       .ranks = static_cast<int>(exchange.ranks),
                       .buckets = exchange.buckets,
                       .averages_slots = exchange.partial->averages_slots};
}

}  // namespace

ModelGraphSpec SpecOf(const ModelFlags& flags, PassTarget target) {
  return {.model = flags.model,
          .options = {.batch_size = flags.batch_size,
                      .image_size = flags.image_size,
                      .dtype = ActivationDType(flags),
                      .auxiliary_head = flags.auxiliary_head},
          .passes = flags.passes,
          .target = target};
}

MinimizeOptions MinimizeOptionsOf(const OptimizerFlags& flags,
                                  const Optimizer& optimizer, DType dtype) {
  MinimizeOptions options;
  // AdamW has the decay itself.
  const bool decays_gradient = !std::holds_alternative<AdamW>(optimizer);
  options.weight_decay = decays_gradient ? flags.weight_decay : 0;
  options.loss_scale = flags.loss_scale.fixed.value_or(
      dtype == DType::kFloat16 ? kFloat16LossScale : 1);
  options.clip_norm = flags.clip_norm;
  options.clip_value = flags.clip_value;
  return options;
}

ForwardPhase ForwardPhaseOf(const ModelGraph& model) {
  return {.images = model.images,
          .labels = model.labels,
          .loss = model.loss,
          .accuracy = model.accuracy,
          .kept = {model.targets, model.features, model.logits, model.correct,
                   model.top_5_accuracy}};
}

absl::StatusOr<TrainingProgramsSpec> ProgramsSpecOf(
    const ModelGraphSpec& spec, const OptimizerFlags& flags) {
  TrainingProgramsSpec programs;
  programs.name = spec.model;
  SPILLWAY_ASSIGN_OR_RETURN(programs.optimizer, MakeOptimizer(flags));
  programs.scope = OptimizerScope(flags);
  programs.minimize =
      MinimizeOptionsOf(flags, programs.optimizer, spec.options.dtype);
  SPILLWAY_ASSIGN_OR_RETURN(programs.passes,
                            SelectPasses(spec.passes, spec.target));
  return programs;
}

std::string OptimizerScope(const OptimizerFlags& flags) {
  return fmt::format("{}_optimizer", flags.optimizer);
}

absl::StatusOr<StepGraph> BuildTrainingGraph(const ModelGraphSpec& spec,
                                             const OptimizerFlags& flags,
                                             bool feeds_rate,
                                             const RankExchange& exchange) {
  SPILLWAY_ASSIGN_OR_RETURN(const Optimizer optimizer, MakeOptimizer(flags));
  GraphBuilder g(StandardOps(), spec.model);
  StepGraph step;
  SPILLWAY_ASSIGN_OR_RETURN(step.model,
                            BuildModel(g, spec.model, spec.options));
  MinimizeOptions options =
      MinimizeOptionsOf(flags, optimizer, spec.options.dtype);
  if (feeds_rate) {
    options.learning_rate_feed =
        g.Placeholder("learning_rate", DType::kFloat32, {});
  }
  if (exchange.ranks > 1) AddExchange(exchange, g, step, options);
  step.base_rate = LearningRate(optimizer);
  step.loss_scale = options.loss_scale;
  Minimize(g.Scope(OptimizerScope(flags)), step.model.loss, optimizer, options);
  SPILLWAY_ASSIGN_OR_RETURN(step.graph, std::move(g).Build());
  SPILLWAY_RETURN_IF_ERROR(Optimize(spec, step));
  return step;
}

absl::StatusOr<StepGraph> BuildEvaluationGraph(const ModelGraphSpec& spec,
                                               int64_t top_k) {
  GraphBuilder g(StandardOps(), spec.model + " evaluation");
  ModelOptions options = spec.options;
  options.is_training = false;
  StepGraph step;
  SPILLWAY_ASSIGN_OR_RETURN(step.model, BuildModel(g, spec.model, options));
  if (top_k > 0) {
    step.in_top_k =
        InTopK(g.Scope("top_k"), step.model.logits, step.model.labels, top_k);
  }
  SPILLWAY_ASSIGN_OR_RETURN(step.graph, std::move(g).Build());
  SPILLWAY_RETURN_IF_ERROR(Optimize(spec, step));
  return step;
}

}  // namespace spillway
