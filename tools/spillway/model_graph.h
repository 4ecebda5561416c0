// The graphs of a zoo model: one training step, or one evaluation step.
#ifndef SPILLWAY_TOOLS_SPILLWAY_MODEL_GRAPH_H_
#define SPILLWAY_TOOLS_SPILLWAY_MODEL_GRAPH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/passes/standard_passes.h"
#include "models/zoo.h"
#include "tools/spillway/flags/model_flags.h"

namespace spillway {

struct ModelGraphSpec {
  std::string model = {};
  ModelOptions options = {};
  std::string passes = "auto";  // see SelectPasses
  PassTarget target = PassTarget::kCpu;
};
ModelGraphSpec SpecOf(const ModelFlags& flags, PassTarget target);

struct StepGraph {
  Graph graph = {};
  ModelGraph model = {};       // usable as ids
  ValueId learning_rate = {};  // fed; invalid: the graph has a constant
  double base_rate = 0;        // the optimizer's rate, before any schedule
  double loss_scale = 1;
};

// Forward phase, backward phase and update, the latter two in the scope
// "<optimizer>_optimizer", after the passes. Without --loss_scale, the loss of
// a float16 model is scaled by 128. Errors: those of BuildModel, Minimize and
// SelectPasses.
absl::StatusOr<StepGraph> BuildTrainingGraph(const ModelGraphSpec& spec,
                                             const OptimizerFlags& optimizer);

// The forward phase as it runs after training: no dropout, and batch norm with
// moving averages.
absl::StatusOr<StepGraph> BuildEvaluationGraph(const ModelGraphSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_TOOLS_SPILLWAY_MODEL_GRAPH_H_
