// The graphs of a zoo model: one training step, or one evaluation step.
#ifndef SPILLWAY_TOOLS_SPILLWAY_MODEL_GRAPH_H_
#define SPILLWAY_TOOLS_SPILLWAY_MODEL_GRAPH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/passes/standard_passes.h"
#include "models/zoo.h"
#include "onnx_model/import.h"
#include "tools/spillway/flags/model_flags.h"
#include "training/loop/training_programs.h"

namespace spillway {

struct ModelGraphSpec {
  std::string model = {};
  // In place of a model of the zoo; null: `model`.
  std::shared_ptr<const OnnxModel> onnx = {};
  OnnxFlags onnx_flags = {};
  ModelOptions options = {};
  std::string passes = "auto";  // see SelectPasses
  PassTarget target = PassTarget::kCpu;
};
// Reads the file of --onnx. Errors: those of OnnxModel::Read.
absl::StatusOr<ModelGraphSpec> SpecOf(const ModelFlags& flags,
                                      PassTarget target);

// "--model" or "--onnx", for errors.
std::string SourceFlagOf(const ModelFlags& flags);

// The model of `spec`, with loss. `onnx` becomes what an ONNX file had; may be
// null. Errors: those of BuildModel and OnnxModel::AddTo.
absl::StatusOr<ModelGraph> BuildNetwork(GraphBuilder& g,
                                        const ModelGraphSpec& spec,
                                        OnnxNetwork* onnx = nullptr);

// Writes the first values of an ONNX model's variables to `session`, which may
// have some of them only. Nothing happens for a model of the zoo. Errors: those
// of OnnxModel::InitialValues.
absl::Status WriteInitialValues(const ModelGraphSpec& spec,
                                const OnnxNetwork& network, Session& session);

struct StepGraph {
  Graph graph = {};
  ModelGraph model = {};  // usable as ids
  OnnxNetwork onnx = {};  // of an ONNX file; without tensors of this graph
  Tensor in_top_k = {};   // an id too; bool [rows]
  // Fed in a run of several ranks.
  Tensor rank_weight = {};
  Tensor turn = {};
  double base_rate = 0;  // the optimizer's rate
  double loss_scale = 1;
};

// What MinimizeOptions the flags mean for `optimizer`. Without --loss_scale,
// the loss of a float16 model is scaled by 128.
MinimizeOptions MinimizeOptionsOf(const OptimizerFlags& flags,
                                  const Optimizer& optimizer, DType dtype);

// What a step fetches: loss and accuracy. A model of an ONNX file has no
// accuracy, and its evaluation no loss but its outputs.
std::vector<ValueId> LossFetchesOf(const ModelGraph& model);

// What training programs need of a model, and the values that the step of
// BuildTrainingGraph keeps too, so that plans fit both.
ForwardPhase ForwardPhaseOf(const ModelGraph& model);

// The spec of a model's training programs, without `forward`. Errors: those of
// MakeOptimizer and SelectPasses.
absl::StatusOr<TrainingProgramsSpec> ProgramsSpecOf(
    const ModelGraphSpec& spec, const OptimizerFlags& flags);

// The scope of backward phase, slots and updates: "<optimizer>_optimizer".
std::string OptimizerScope(const OptimizerFlags& flags);

// What the ranks of a run exchange in the step of a model
// (TrainingProgramsSpec).
struct RankExchange {
  int64_t ranks = 1;
  BucketSpec buckets = {};
  WireFormat wire = {};
  std::optional<SparseGradients> sparse = {};
  std::optional<PartialUpdates> partial = {};
};

// Forward phase, backward phase and update, the latter two in the optimizer's
// scope, after the passes. `feeds_rate`: the learning rate is a feed. With
// several ranks, it is the graph of their training programs, so plans fit both.
// Errors: those of BuildModel, Minimize and SelectPasses.
absl::StatusOr<StepGraph> BuildTrainingGraph(const ModelGraphSpec& spec,
                                             const OptimizerFlags& optimizer,
                                             bool feeds_rate = false,
                                             const RankExchange& exchange = {});

// The forward phase as it runs after training: no dropout, and batch norm with
// moving averages. `top_k`: whether each label is among the k largest logits;
// 0: not asked for.
absl::StatusOr<StepGraph> BuildEvaluationGraph(const ModelGraphSpec& spec,
                                               int64_t top_k = 0);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_MODEL_GRAPH_H_
