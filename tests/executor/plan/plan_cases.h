// Training graphs and their plans, for the tests of plans.
#ifndef SPILLWAY_TESTS_EXECUTOR_PLAN_PLAN_CASES_H_
#define SPILLWAY_TESTS_EXECUTOR_PLAN_PLAN_CASES_H_

#include <string>
#include <utility>
#include <vector>

#include "executor/plan/compile.h"
#include "fmt/format.h"
#include "graph/graph.h"
#include "tests/support/toy_ops.h"

namespace spillway::testing {

// x0 -> f1 -> ... -> fn, then b_n reads f_n and b_i reads b_(i+1) and f_i.
// Every value has `bytes` bytes; the nodes are plan-only. If not `swapped`,
// forward values are read directly. A swapped f_i comes back when b_(i+2) is
// done.
//
//   f1 --------> f2 --------> f3 ---+
//    | swapped    | swapped         v
//   b1 <-------- b2 <-------- b3 <--+
inline Graph ChainGraph(int n, int64_t bytes, bool swapped) {
  Graph graph("chain");
  const TensorType type{.dtype = DType::kUInt8, .shape = {bytes}};
  std::vector<ValueId> forward;
  for (int i = 0; i < n; ++i) {
    NodeSpec spec{
        .name = fmt::format("f{}", i + 1), .op = "F", .outputs = {type}};
    if (i > 0) spec.inputs = {forward.back()};
    forward.push_back(graph.output(graph.AddNode(spec)));
  }
  std::vector<NodeId> backward;  // b_n first
  for (int i = n - 1; i >= 0; --i) {
    ValueId saved = forward[static_cast<size_t>(i)];
    if (swapped && i < n - 2) {
      const NodeId out = graph.AddNode({.name = fmt::format("out{}", i + 1),
                                        .op = "SwapOut",
                                        .inputs = {saved},
                                        .outputs = {type},
                                        .placement = Placement::kHost});
      const NodeId in = graph.AddNode(
          {.name = fmt::format("in{}", i + 1),
           .op = "SwapIn",
           .inputs = {graph.output(out)},
           .control_inputs = {backward[static_cast<size_t>(n - 3 - i)]},
           .outputs = {type},
           .placement = Placement::kHost});
      saved = graph.output(in);
    }
    NodeSpec spec{.name = fmt::format("b{}", i + 1),
                  .op = "B",
                  .inputs = {saved},
                  .outputs = {type}};
    if (!backward.empty()) spec.inputs.push_back(graph.output(backward.back()));
    backward.push_back(graph.AddNode(spec));
  }
  return graph;
}

// The plan without a step for which no other step waits.
inline void RemoveStep(ExecutionPlan& plan, StepId dropped) {
  IdMap<StepId, Step> kept;
  for (const StepId id : plan.steps.ids()) {
    Step step = plan.steps[id];
    if (id == dropped) continue;
    std::erase(step.waits, dropped);
    for (StepId& wait : step.waits) {
      if (wait > dropped) wait = StepId(wait.value() - 1);
    }
    kept.push_back(std::move(step));
  }
  plan.steps = std::move(kept);
}

// Compiles the whole graph, without fetches.
inline absl::StatusOr<ExecutionPlan> Compile(const Graph& graph,
                                             CompileOptions options = {}) {
  const OpRegistry ops = ToyOps();
  auto schedule =
      MakeSchedule(graph, ops, NodesToRun(graph, ops, options.fetches));
  if (!schedule.ok()) return schedule.status();
  AddResidents(graph, ops, *schedule, "", options.residents);
  return CompilePlan(graph, ops, *schedule, options);
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_EXECUTOR_PLAN_PLAN_CASES_H_
