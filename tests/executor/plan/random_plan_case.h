// Random graphs with an order for the planner: all features of plans in few
// nodes.
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
  bool collectives = false;  // some of the plan-only nodes are all-reduces
  // Any order that edges and ReadyRank allow; else creation order.
  bool random_order = true;
};

// The inputs of CompilePlan. No budget is set; residents have offsets.
struct PlanCase {
  Graph graph = {};
  IdMap<NodeId, bool> keep = {};
  Schedule schedule = {};
  CompileOptions options = {};
};

// Nodes of the ops of ToyOps, swap pairs, feeds and plan-only nodes with one or
// two outputs, values of 0 to 2000 bytes; control edges, including one from its
// trigger for each swap-in; scratch and fetches. Updates come after all readers
// of their variable. Equal options give equal cases.
PlanCase RandomPlanCase(const RandomPlanOptions& options);

// CompilePlan with ToyOps.
absl::StatusOr<ExecutionPlan> Compile(const PlanCase& plan_case);

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_EXECUTOR_PLAN_RANDOM_PLAN_CASE_H_
