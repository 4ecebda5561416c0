#include "tuner/model/step_recipe.h"

#include "base/status_macros.h"
#include "lms/apply_swap_plan.h"
#include "lms/lms.h"
#include "lms/storage_readers.h"

namespace spillway {

absl::StatusOr<Graph> ApplyRecipe(const StepRecipe& recipe,
                                  const OpRegistry& ops, const Graph& graph) {
  Graph edited = graph;
  ApplySwapPlan(recipe.swaps, edited);
  const StorageMap storages = StoragesFor(recipe.options, ops, graph);
  SPILLWAY_RETURN_IF_ERROR(VerifySwaps(
      graph, edited, AllowedEditOf(recipe.options, storages, recipe.swaps)));
  return edited;
}

CompileOptions OptionsFor(const StepRecipe& recipe, const Graph& edited,
                          CompileOptions options) {
  if (!options.workspace_bytes.empty()) {
    options.workspace_bytes.resize(edited.num_nodes(), 0);
  }
  options.placement = recipe.placement;
  return options;
}

}  // namespace spillway
