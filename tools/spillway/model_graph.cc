#include "tools/spillway/model_graph.h"

#include <utility>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/builder.h"
#include "ops/all_ops.h"

namespace spillway {

absl::StatusOr<StepGraph> BuildTrainingGraph(const ModelGraphSpec& spec,
                                             const OptimizerFlags& flags) {
  ASSIGN_OR_RETURN(const Optimizer optimizer, MakeOptimizer(flags));
  GraphBuilder g(StandardOps(), spec.model);
  StepGraph step;
  step.base_rate = LearningRate(optimizer);
  ASSIGN_OR_RETURN(step.model, BuildModel(g, spec.model, spec.options));
  MinimizeOptions options;
  options.weight_decay = flags.weight_decay;
  if (flags.feeds_rate()) {
    options.learning_rate_feed =
        g.Placeholder("learning_rate", DType::kFloat32, {});
    step.learning_rate = options.learning_rate_feed.id();
  }
  Minimize(g.Scope(fmt::format("{}_optimizer", flags.optimizer)),
           step.model.loss, optimizer, options);
  ASSIGN_OR_RETURN(step.graph, std::move(g).Build());
  return step;
}

absl::StatusOr<StepGraph> BuildEvaluationGraph(const ModelGraphSpec& spec) {
  GraphBuilder g(StandardOps(), spec.model + " evaluation");
  ModelOptions options = spec.options;
  options.is_training = false;
  StepGraph step;
  ASSIGN_OR_RETURN(step.model, BuildModel(g, spec.model, options));
  ASSIGN_OR_RETURN(step.graph, std::move(g).Build());
  return step;
}

}  // namespace spillway
