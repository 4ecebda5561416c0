#include "executor/plan/delay_swap_ins.h"

#include <set>

#include "executor/plan/choose_schedule.h"
#include "executor/plan/lower.h"
#include "graph/traverse.h"
#include "tests/executor/plan/plan_cases.h"
#include "tests/executor/plan/random_plan_case.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainGraph;
using testing::PlanCase;
using testing::RandomPlanCase;
using testing::ToyOps;

// Checks that every node occurs once, after all its predecessors.
void ExpectValid(const Schedule& schedule, const Schedule& original,
                 const Graph& graph) {
  ASSERT_EQ(schedule.order.size(), original.order.size());
  EXPECT_EQ(std::set(schedule.order.begin(), schedule.order.end()),
            std::set(original.order.begin(), original.order.end()));
  for (size_t i = 0; i < schedule.order.size(); ++i) {
    const NodeId id = schedule.order[i];
    ASSERT_EQ(schedule.step_of[id], static_cast<int32_t>(i));
    ForEachPredecessor(graph, id, [&](NodeId before) {
      EXPECT_LT(schedule.step_of[before], schedule.step_of[id])
          << graph.node(before).name << " before " << graph.node(id).name;
    });
  }
}

bool DelayOnce(const Graph& graph, const CompileOptions& options,
               DelayedSchedule& delayed) {
  const ExecutionPlan plan =
      LowerToSteps(graph, ToyOps(), delayed.schedule, options).plan;
  return DelaySwapInsAtPeak(graph, plan, delayed);
}

TEST(DelaySwapInsTest, EachRoundGivesAValidOrderThatNeedsNoMore) {
  int delayed_cases = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const PlanCase plan_case = RandomPlanCase({.seed = seed, .nodes = 30});
    const OpRegistry ops = ToyOps();
    DelayedSchedule delayed =
        WithoutDelays(plan_case.graph, plan_case.schedule);
    int64_t need = LeastDeviceBytes(plan_case.graph, ops, delayed.schedule,
                                    plan_case.options);
    int64_t num_delayed = 0;
    while (DelayOnce(plan_case.graph, plan_case.options, delayed)) {
      ExpectValid(delayed.schedule, plan_case.schedule, plan_case.graph);
      ASSERT_GT(delayed.num_delayed, num_delayed) << "no progress";
      num_delayed = delayed.num_delayed;
      const int64_t now = LeastDeviceBytes(plan_case.graph, ops,
                                           delayed.schedule, plan_case.options);
      EXPECT_LE(now, need);
      need = now;
    }
    for (const Node& node : plan_case.graph.nodes()) {
      EXPECT_TRUE(!delayed.is_delayed[node.id] || node.op == "SwapIn");
    }
    delayed_cases += num_delayed > 0 ? 1 : 0;
  }
  EXPECT_GT(delayed_cases, 20);
}

// in_i may start when b_(i+2) is done, but b_i reads it: b_(i+1) runs in
// between.
TEST(DelaySwapInsTest, ADelayedSwapInRunsRightBeforeItsReader) {
  const Graph graph = ChainGraph(8, 1024, true);
  const OpRegistry ops = ToyOps();
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, MakeSchedule(graph, ops, {}));
  DelayedSchedule delayed = WithoutDelays(graph, schedule);
  while (DelayOnce(graph, {}, delayed)) {
  }
  ASSERT_GT(delayed.num_delayed, 0);
  for (const Node& node : graph.nodes()) {
    if (!delayed.is_delayed[node.id]) continue;
    const NodeId reader = graph.uses(node.outputs[0])[0].node;
    EXPECT_GT(schedule.step_of[reader], schedule.step_of[node.id] + 1);
    EXPECT_EQ(delayed.schedule.step_of[reader],
              delayed.schedule.step_of[node.id] + 1);
  }
}

}  // namespace
}  // namespace spillway
