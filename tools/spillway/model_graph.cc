#include "tools/spillway/model_graph.h"

#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/builder/builder.h"
#include "models/layers/layers.h"
#include "onnx_model/write_initial_values.h"
#include "ops/all_ops.h"

namespace spillway {
namespace {

// The scale of tf_cnn_benchmarks.
constexpr double kFloat16LossScale = 128;

// Runs the passes; keeps every value that `step` names.
absl::Status Optimize(const ModelGraphSpec& spec, StepGraph& step) {
  ModelGraph& model = step.model;
  std::vector<Tensor*> tensors = {
      &model.images,         &model.labels,  &model.targets,    &model.features,
      &model.logits,         &model.loss,    &model.correct,    &model.accuracy,
      &model.top_5_accuracy, &step.in_top_k, &step.rank_weight, &step.turn};
  for (std::vector<Tensor>* more : {&model.more_inputs, &model.outputs}) {
    for (Tensor& tensor : *more) tensors.push_back(&tensor);
  }
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

absl::StatusOr<ModelGraphSpec> SpecOf(const ModelFlags& flags,
                                      PassTarget target) {
  ModelGraphSpec spec = {.model = flags.name(),
                         .options = {.batch_size = flags.batch_size,
                                     .image_size = flags.image_size,
                                     .dtype = ActivationDType(flags),
                                     .auxiliary_head = flags.auxiliary_head},
                         .passes = flags.passes,
                         .target = target};
  if (!flags.onnx.is_given()) return spec;
  SPILLWAY_ASSIGN_OR_RETURN(OnnxModel model, OnnxModel::Read(flags.onnx.file));
  spec.onnx = std::make_shared<const OnnxModel>(std::move(model));
  spec.onnx_flags = flags.onnx;
  return spec;
}

std::string SourceFlagOf(const ModelFlags& flags) {
  return flags.onnx.is_given() ? "--onnx" : "--model";
}

absl::StatusOr<ModelGraph> BuildNetwork(GraphBuilder& g,
                                        const ModelGraphSpec& spec,
                                        OnnxNetwork* onnx) {
  if (spec.onnx == nullptr) return BuildModel(g, spec.model, spec.options);
  OnnxImportOptions options =
      ImportOptionsOf(spec.onnx_flags, spec.options.is_training);
  options.batch_size = spec.options.batch_size;
  options.dtype = spec.options.dtype;
  SPILLWAY_ASSIGN_OR_RETURN(OnnxNetwork network, spec.onnx->AddTo(g, options));
  ModelGraph model;
  model.options = spec.options;
  model.options.batch_size = network.batch_size;
  model.has_pixels = false;
  if (!network.inputs.empty()) model.images = network.inputs[0].tensor;
  for (size_t i = 1; i < network.inputs.size(); ++i) {
    model.more_inputs.push_back(network.inputs[i].tensor);
  }
  const bool is_labels =
      network.target.is_valid() && network.target.dtype() == DType::kInt32;
  (is_labels ? model.labels : model.targets) = network.target;
  for (const OnnxValue& output : network.outputs) {
    model.outputs.push_back(output.tensor);
  }
  model.logits = network.logits;
  model.loss = network.loss;
  if (onnx != nullptr) *onnx = std::move(network);
  return model;
}

absl::Status WriteInitialValues(const ModelGraphSpec& spec,
                                const OnnxNetwork& network, Session& session) {
  if (spec.onnx == nullptr) return absl::OkStatus();
  return spillway::WriteInitialValues(*spec.onnx, network.variables, session);
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

std::vector<ValueId> LossFetchesOf(const ModelGraph& model) {
  std::vector<ValueId> fetches(model.outputs.begin(), model.outputs.end());
  for (const Tensor number : {model.loss, model.accuracy}) {
    if (number.is_valid()) fetches.push_back(number.id());
  }
  return fetches;
}

ForwardPhase ForwardPhaseOf(const ModelGraph& model) {
  return {.images = model.images,
          // The target of a user's own model may be reals.
          .labels = model.has_pixels || model.labels.is_valid() ? model.labels
                                                                : model.targets,
          .more_fields = model.more_inputs,
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
  SPILLWAY_ASSIGN_OR_RETURN(step.model, BuildNetwork(g, spec, &step.onnx));
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
  ModelGraphSpec after_training = spec;
  after_training.options.is_training = false;
  StepGraph step;
  SPILLWAY_ASSIGN_OR_RETURN(step.model,
                            BuildNetwork(g, after_training, &step.onnx));
  if (top_k > 0) {
    step.in_top_k =
        InTopK(g.Scope("top_k"), step.model.logits, step.model.labels, top_k);
  }
  SPILLWAY_ASSIGN_OR_RETURN(step.graph, std::move(g).Build());
  SPILLWAY_RETURN_IF_ERROR(Optimize(spec, step));
  return step;
}

}  // namespace spillway
