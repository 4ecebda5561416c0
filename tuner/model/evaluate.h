// Evaluates a recipe: its plan, and the predicted step.
#ifndef SPILLWAY_TUNER_MODEL_EVALUATE_H_
#define SPILLWAY_TUNER_MODEL_EVALUATE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "executor/plan/compile_options.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "simulator/device_profile.h"
#include "simulator/simulator.h"
#include "tuner/model/derived_nodes.h"
#include "tuner/model/step_recipe.h"

namespace spillway {

// What recipes may recompute.
struct RecomputeChoices {
  DerivedKernels derived = {};
  RecomputeOptions options = {};  // what is excluded; the policy is ignored
};

// A step to be tuned. Borrows everything but the options.
struct TunerInputs {
  const Graph& graph;  // without swaps
  const OpRegistry& ops;
  const IdMap<NodeId, bool>& keep;  // the nodes to run
  CompileOptions compile = {};      // for `graph`, with the budgets
  const IdMap<NodeId, int64_t>& kernel_ns;
  const DeviceProfile& profile;
  // The clones in `graph`; null: it has none.
  const RecomputePlan* recompute = nullptr;
  // Null: recipes add no clones to `graph`.
  const RecomputeChoices* choices = nullptr;
};

struct EvaluatedRecipe {
  StepRecipe recipe = {};
  Graph graph = {};  // edited
  ExecutionPlan plan = {};
  SimulatedStep step = {};
};

// Compiles, verifies and simulates. The clones of the recipe have the times and
// workspaces of their originals. Errors: RESOURCE_EXHAUSTED as CompilePlan.
absl::StatusOr<EvaluatedRecipe> Evaluate(const TunerInputs& inputs,
                                         StepRecipe recipe);

// Evaluate, then up to `rounds` times, until they no longer change: places the
// buffers again by the simulated times. Returns the fastest. Sets the recipe's
// placement, but keeps its budget.
absl::StatusOr<EvaluatedRecipe> EvaluateByTime(const TunerInputs& inputs,
                                               StepRecipe recipe, int rounds);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MODEL_EVALUATE_H_
