#include "lms/drop_cycles.h"

#include <random>

#include "gmock/gmock.h"
#include "graph/order/schedule.h"
#include "graph/traverse.h"
#include "gtest/gtest.h"
#include "lms/apply_swap_plan.h"
#include "tests/lms/chain_e1.h"
#include "tests/support/random_graph.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainE1;
using testing::IsOk;

bool EditIsAcyclic(const Graph& graph, const SwapPlan& plan) {
  Graph edited = graph;
  ApplySwapPlan(plan, edited);
  return Levels(edited).ok();
}

TEST(DropCyclesTest, OnlyTheSwapOnTheCycleIsDropped) {
  const Graph graph = ChainE1();
  const auto value = [&](const char* name) { return *graph.FindValue(name); };
  const auto node = [&](const char* name) { return *graph.FindNode(name); };
  SwapPlan plan;
  plan.swaps = {
      {.value = value("F1"),
       .swap_ins = {{.readers = {node("opt/B1")},
                     .triggers = {node("opt/U")}}}},  // which waits for B1
      {.value = value("F2"),
       .swap_ins = {
           {.readers = {node("opt/B2")}, .triggers = {node("opt/B4")}}}}};
  EXPECT_EQ(DropCycles(graph, *Levels(graph), plan), 1);
  ASSERT_EQ(plan.swaps.size(), 1u);
  EXPECT_EQ(plan.swaps[0].value, value("F2"));
  ASSERT_EQ(plan.dropped.size(), 1u);
  EXPECT_EQ(plan.dropped[0].value, value("F1"));
  EXPECT_EQ(plan.dropped[0].reason, "a trigger would close a cycle");
}

// Every reader waits for some random node.
SwapPlan RandomPlan(const Graph& graph, std::mt19937& random) {
  SwapPlan plan;
  for (const ValueId value : graph.values().ids()) {
    if (random() % 3 != 0 || graph.uses(value).empty()) continue;
    Swap swap = {.value = value};
    ForEachReader(graph, swap.value, [&](NodeId reader) {
      const NodeId trigger(random() % graph.num_nodes());
      swap.swap_ins.push_back({.readers = {reader}, .triggers = {trigger}});
    });
    plan.swaps.push_back(std::move(swap));
  }
  return plan;
}

TEST(DropCyclesTest, RandomPlansAreAcyclicAfterwardsAndKeptIfTheyWereBefore) {
  int dropped_in_all = 0;
  int kept_in_all = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const Graph graph =
        testing::RandomTrainingGraph({.seed = seed, .forward_nodes = 8});
    SwapPlan plan = RandomPlan(graph, random);
    const size_t before = plan.swaps.size();
    const bool was_acyclic = EditIsAcyclic(graph, plan);
    const int dropped = DropCycles(graph, *Levels(graph), plan);
    EXPECT_EQ(dropped == 0, was_acyclic);
    EXPECT_EQ(plan.swaps.size() + static_cast<size_t>(dropped), before);
    EXPECT_EQ(plan.dropped.size(), static_cast<size_t>(dropped));
    EXPECT_TRUE(EditIsAcyclic(graph, plan));
    dropped_in_all += dropped;
    kept_in_all += static_cast<int>(plan.swaps.size());
  }
  EXPECT_GT(dropped_in_all, 300);
  EXPECT_GT(kept_in_all, 300);
}

}  // namespace
}  // namespace spillway
