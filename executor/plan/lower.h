// Lowers a graph and an order to the steps of a plan: kinds, lanes and buffers,
// without offsets and waits.
#ifndef SPILLWAY_EXECUTOR_PLAN_LOWER_H_
#define SPILLWAY_EXECUTOR_PLAN_LOWER_H_

#include <vector>

#include "executor/plan/compile_options.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "graph/op_registry.h"
#include "graph/order/schedule.h"

namespace spillway {

struct UnplacedPlan {
  // Only residents have an offset; no step has waits.
  ExecutionPlan plan = {};
  // For each step, the steps that the graph's edges put before it.
  IdMap<StepId, std::vector<StepId>> dependencies = {};
};

UnplacedPlan LowerToSteps(const Graph& graph, const OpRegistry& ops,
                          const Schedule& schedule,
                          const CompileOptions& options);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_LOWER_H_
