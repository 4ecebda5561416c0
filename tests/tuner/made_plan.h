// Plans of random graphs, for saving and reading.
#ifndef SPILLWAY_TESTS_TUNER_MADE_PLAN_H_
#define SPILLWAY_TESTS_TUNER_MADE_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/order/schedule.h"
#include "lms/lms.h"
#include "lms/options.h"
#include "tuner/model/step_recipe.h"
#include "tuner/saved_plan.h"

namespace spillway::testing {

inline const OpRegistry& NoOps() {
  static const OpRegistry ops;
  return ops;
}

// The swaps of `options`, an order of the edited graph, and synthetic times.
inline absl::StatusOr<SavedPlan> MakePlan(const Graph& graph,
                                          const LmsOptions& options) {
  SavedPlan plan = {.fingerprint = GraphFingerprint(graph),
                    .fetches = {graph.output(NodeId(0))},
                    .device_memory = 123456,
                    .device_bytes = 120000,
                    .host_bytes = 4096,
                    .step_ns = 987654321};
  StepRecipe& recipe = plan.recipe;
  recipe.name = "made for a test, 3.0 %";
  recipe.options = options;
  recipe.placement.index = 5;
  recipe.placement.within_bytes = 121000;
  SPILLWAY_ASSIGN_OR_RETURN(recipe.swaps, PlanSwaps(options, graph));
  SPILLWAY_ASSIGN_OR_RETURN(const Graph edited, ApplyRecipe(recipe, graph));
  SPILLWAY_ASSIGN_OR_RETURN(recipe.schedule, MakeSchedule(edited, NoOps(), {}));
  recipe.placement.expected_ns.resize(edited.num_nodes(), {});
  int64_t now = 0;
  for (const NodeId id : recipe.schedule.order) {
    recipe.placement.expected_ns[id] = {now, now + 7};
    now += 5;
  }
  return plan;
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_TUNER_MADE_PLAN_H_
