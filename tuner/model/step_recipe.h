// StepRecipe: how a graph will run: which nodes are computed again, which
// tensors are swapped, the order of the nodes, and the placement of buffers.
// With the same budgets, CompilePlan makes the same plan from it again.
#ifndef SPILLWAY_TUNER_MODEL_STEP_RECIPE_H_
#define SPILLWAY_TUNER_MODEL_STEP_RECIPE_H_

#include <memory>
#include <string>

#include "executor/plan/algorithms.h"
#include "executor/plan/compile_options.h"
#include "graph/graph.h"
#include "graph/order/schedule.h"
#include "graph/standard_ops.h"
#include "lms/options.h"
#include "lms/recompute/recompute_plan.h"
#include "lms/swap_plan.h"
#include "tuner/model/materialize.h"

namespace spillway {

struct StepRecipe {
  // Its origin: "off", "per tensor", "v1 lb 1", "v2 threshold 3 ahead 1".
  std::string name = {};
  // Its set of TFLMS options; mode kOff for all other recipes.
  LmsOptions options = {};
  // What a recipe of the search for fates was made from; else null. Not saved.
  std::shared_ptr<const FateChoice> fates = {};
  RecomputePlan recompute = {};
  SwapPlan swaps = {};  // in the graph with the clones of `recompute`
  // Of the kernels; the same in all these graphs.
  AlgorithmNames algorithms = {};
  // Of the graph with clones and swaps. The ids of the clones start at the
  // graph's number of nodes, those of the swap nodes follow.
  Schedule schedule = {};
  TimedPlacement placement = {};
};

// `graph` with the recipe's clones and swaps. Errors: INVALID_ARGUMENT for a
// recipe of another graph; INTERNAL if the edit changes what the graph
// computes.
absl::StatusOr<Graph> ApplyRecipe(const StepRecipe& recipe,
                                  const OpRegistry& ops, const Graph& graph);

// The same for graphs of this library's ops. Link spillway::ops to use it.
inline absl::StatusOr<Graph> ApplyRecipe(const StepRecipe& recipe,
                                         const Graph& graph) {
  return ApplyRecipe(recipe, StandardOps(), graph);
}

// INVALID_ARGUMENT unless order, times and algorithms belong to nodes of the
// edited graph, and each clone has the algorithm of its original.
// (CheckSchedule tells whether it can run in this order.)
absl::Status CheckFits(const StepRecipe& recipe, const Graph& edited);

// The recipe's order of the kernels, for `graph` without swaps. An alias that
// the edited graph does not need, since its readers read an alias of the copy,
// runs right before its first reader. Cost: O(nodes + edges).
Schedule KernelOrder(const StepRecipe& recipe, const Graph& graph);

// Gives clones by the same op the algorithm of their originals. `names`: of the
// graph without clones, which has `num_nodes` nodes; may be empty.
void ExtendToClones(const RecomputePlan& plan, size_t num_nodes,
                    AlgorithmNames& names);

// Converts the options of the graph without swaps to those that CompilePlan
// needs for the edited graph.
CompileOptions OptionsFor(const StepRecipe& recipe, const Graph& edited,
                          CompileOptions options);

}  // namespace spillway

#endif  // SPILLWAY_TUNER_MODEL_STEP_RECIPE_H_
