// Random graphs with an order to plan them in: everything that a plan has to
// get right in few nodes.
#ifndef SPILLWAY_TESTS_EXECUTOR_PLAN_RANDOM_PLAN_CASE_H_
#define SPILLWAY_TESTS_EXECUTOR_PLAN_RANDOM_PLAN_CASE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "executor/plan/compile.h"
#include "graph/graph.h"
#include "graph/order/schedule.h"

namespace spillway::testing {

struct RandomPlanOptions {
  uint64_t seed = 0;
  int nodes = 14;
  bool swaps = true;
  // Any order that edges and ReadyRank allow; else creation order.
  bool random_order = true;
};

// What CompilePlan needs. No budget is set; residents are laid out.
struct PlanCase {
  Graph graph = {};
  IdMap<NodeId, bool> keep = {};
  Schedule schedule = {};
  CompileOptions options = {};
};

// Nodes of the ops of ToyOps, swap pairs, feeds and plan-only nodes of one or
// two outputs, of 0 to 2000 bytes a value; control edges, of which a swap-in
// has one from its trigger; scratch and fetches. Updates come after all
// readers of their variable. The same options make the same case.
PlanCase RandomPlanCase(const RandomPlanOptions& options);

// CompilePlan with ToyOps.
absl::StatusOr<ExecutionPlan> Compile(const PlanCase& plan_case);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_EXECUTOR_PLAN_RANDOM_PLAN_CASE_H_
