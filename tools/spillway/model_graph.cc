#include "tools/spillway/model_graph.h"

#include <array>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "ops/all_ops.h"

namespace spillway {
namespace {

// The scale of tf_cnn_benchmarks.
constexpr double kFloat16LossScale = 128;

// Runs the passes; keeps every value that `step` names.
absl::Status Optimize(const ModelGraphSpec& spec, StepGraph& step) {
  ModelGraph& model = step.model;
  const std::array<Tensor*, 9> tensors = {
      &model.images,   &model.labels,   &model.targets,
      &model.features, &model.logits,   &model.loss,
      &model.correct,  &model.accuracy, &model.top_5_accuracy};
  std::vector<ValueId> keep;
  for (const Tensor* tensor : tensors) {
    if (tensor->is_valid()) keep.push_back(tensor->id());
  }
  if (step.learning_rate.is_valid()) keep.push_back(step.learning_rate);
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<Pass> passes,
                            SelectPasses(spec.passes, spec.target));
  SPILLWAY_ASSIGN_OR_RETURN(OptimizedGraph result,
                            RunPasses(step.graph, StandardOps(), passes, keep));
  for (Tensor* tensor : tensors) {
    if (!tensor->is_valid()) continue;
    *tensor = Tensor(result.graph, result.at(tensor->id()));
  }
  if (step.learning_rate.is_valid()) {
    step.learning_rate = result.at(step.learning_rate);
  }
  step.graph = std::move(result.graph);
  return absl::OkStatus();
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

absl::StatusOr<StepGraph> BuildTrainingGraph(const ModelGraphSpec& spec,
                                             const OptimizerFlags& flags) {
  SPILLWAY_ASSIGN_OR_RETURN(const Optimizer optimizer, MakeOptimizer(flags));
  GraphBuilder g(StandardOps(), spec.model);
  StepGraph step;
  step.base_rate = LearningRate(optimizer);
  SPILLWAY_ASSIGN_OR_RETURN(step.model,
                            BuildModel(g, spec.model, spec.options));
  MinimizeOptions options;
  // AdamW has the decay itself.
  const bool decays_gradient = !std::holds_alternative<AdamW>(optimizer);
  options.weight_decay = decays_gradient ? flags.weight_decay : 0;
  step.loss_scale = flags.loss_scale.value_or(
      spec.options.dtype == DType::kFloat16 ? kFloat16LossScale : 1);
  options.loss_scale = step.loss_scale;
  if (flags.feeds_rate()) {
    options.learning_rate_feed =
        g.Placeholder("learning_rate", DType::kFloat32, {});
    step.learning_rate = options.learning_rate_feed.id();
  }
  Minimize(g.Scope(fmt::format("{}_optimizer", flags.optimizer)),
           step.model.loss, optimizer, options);
  SPILLWAY_ASSIGN_OR_RETURN(step.graph, std::move(g).Build());
  SPILLWAY_RETURN_IF_ERROR(Optimize(spec, step));
  return step;
}

absl::StatusOr<StepGraph> BuildEvaluationGraph(const ModelGraphSpec& spec) {
  GraphBuilder g(StandardOps(), spec.model + " evaluation");
  ModelOptions options = spec.options;
  options.is_training = false;
  StepGraph step;
  SPILLWAY_ASSIGN_OR_RETURN(step.model, BuildModel(g, spec.model, options));
  SPILLWAY_ASSIGN_OR_RETURN(step.graph, std::move(g).Build());
  SPILLWAY_RETURN_IF_ERROR(Optimize(spec, step));
  return step;
}

}  // namespace spillway
