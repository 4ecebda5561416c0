#include "lms/v1/plan_swaps.h"

#include <array>
#include <map>

#include "lms/lms.h"
#include "lms/v1/orders.h"
#include "tests/lms/chain_e1.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using enum ControlStrategy;
using testing::ChainE1;
using testing::E1Options;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StatusIs;

// Reader -> trigger of its swap-in ("-": none).
std::map<std::string, std::string> Triggers(const SwapPlan& plan,
                                            const Graph& graph) {
  std::map<std::string, std::string> triggers;
  for (const Swap& swap : plan.swaps) {
    for (const SwapIn& swap_in : swap.swap_ins) {
      for (const NodeId reader : swap_in.readers) {
        triggers[graph.node(reader).name] =
            swap_in.triggers.empty() ? "-"
                                     : graph.node(swap_in.triggers[0]).name;
      }
    }
  }
  return triggers;
}

// One row of the published table: triggers of B1, B2, B3 and B4.
struct Row {
  ControlStrategy strategy;
  int64_t lb;
  int64_t ub;
  std::array<const char*, 4> triggers;
};

TEST(PlanSwapsV1Test, CompatGivesThePublishedTableOfTheChain) {
  const std::vector<Row> rows = {
      {kChainRule, 1, 10000, {"opt/B2", "opt/B3", "opt/B4", "-"}},
      {kChainRule, 2, 10000, {"opt/B3", "opt/B4", "-", "-"}},
      {kChainRule, 3, 10000, {"opt/B4", "F3", "opt/B4", "-"}},
      {kChainRule, 4, 10000, {"F3", "-", "opt/B4", "-"}},
      {kChainRule, 5, 10000, {"F2", "opt/B3", "opt/B4", "-"}},
      {kChainRule, 0, 10000, {"opt/B2", "opt/B3", "opt/B4", "-"}},
      {kDirectOrder, 0, 10000, {"opt/B2", "opt/B3", "opt/B4", "-"}},
      {kDirectOrder, 1, 10000, {"opt/B3", "opt/B4", "F4", "-"}},
      {kDirectOrder, 2, 10000, {"opt/B4", "F4", "-", "-"}},
      {kDirectOrder, 3, 10000, {"F4", "F3", "F4", "-"}},
      {kChainRule, 1, 1, {"-", "-", "-", "-"}},
      {kChainRule, 1, 2, {"opt/B2", "opt/B3", "opt/B4", "-"}},
      {kDirectOrder, 1, 1, {"-", "-", "-", "-"}},
      {kDirectOrder, 1, 2, {"-", "-", "-", "-"}},
      {kDirectOrder, 1, 3, {"opt/B3", "opt/B4", "F4", "-"}},
  };
  const Graph graph = ChainE1();
  for (const Row& row : rows) {
    SCOPED_TRACE(::testing::Message() << ControlStrategyName(row.strategy)
                                      << " lb " << row.lb << " ub " << row.ub);
    LmsOptions options = E1Options();
    options.v1.ctrld_strategy = row.strategy;
    options.v1.lb = row.lb;
    options.v1.ub = row.ub;
    ASSERT_OK_AND_ASSIGN(const SwapPlan plan,
                         PlanSwaps(options, StandardOps(), graph));
    const auto triggers = Triggers(plan, graph);
    EXPECT_EQ(triggers.size(), 4U);
    EXPECT_EQ(triggers.at("opt/B1"), row.triggers[0]);
    EXPECT_EQ(triggers.at("opt/B2"), row.triggers[1]);
    EXPECT_EQ(triggers.at("opt/B3"), row.triggers[2]);
    EXPECT_EQ(triggers.at("opt/B4"), row.triggers[3]);
  }
}

TEST(PlanSwapsV1Test, OrdersOfTheChainAreThePublishedOnes) {
  const Graph graph = ChainE1();
  ASSERT_OK_AND_ASSIGN(
      const V1Orders orders,
      FindV1Orders(E1Options(), StorageMap::WithoutAliases(graph), graph));
  ASSERT_EQ(orders.seeds.size(), 1U);
  EXPECT_EQ(graph.node(orders.seeds[0]).name, "F1");
  EXPECT_EQ(orders.backward_start, 4);
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(orders.order[NodeId(i)], static_cast<int32_t>(i));
  }
}

TEST(PlanSwapsV1Test, NTensorsCountsFromTheInputSide) {
  const Graph graph = ChainE1();
  LmsOptions options = E1Options();
  options.v1.n_tensors = 2;
  ASSERT_OK_AND_ASSIGN(const SwapPlan plan,
                       PlanSwaps(options, StandardOps(), graph));
  const std::map<std::string, std::string> expected = {{"opt/B1", "opt/B2"},
                                                       {"opt/B2", "opt/B3"}};
  EXPECT_EQ(Triggers(plan, graph), expected);
}

TEST(PlanSwapsV1Test, WithoutCompatAReaderWithoutATriggerKeepsItsTensor) {
  const Graph graph = ChainE1();
  LmsOptions options = E1Options();
  options.compat = false;
  ASSERT_OK_AND_ASSIGN(const SwapPlan plan,
                       PlanSwaps(options, StandardOps(), graph));
  const std::map<std::string, std::string> expected = {
      {"opt/B1", "opt/B2"}, {"opt/B2", "opt/B3"}, {"opt/B3", "opt/B4"}};
  EXPECT_EQ(Triggers(plan, graph), expected);
  ASSERT_EQ(plan.dropped.size(), 1U);
  EXPECT_EQ(graph.ValueName(plan.dropped[0].value), "F4:0");
  EXPECT_THAT(plan.dropped[0].reason, HasSubstr("no trigger"));
}

// With direct order and lb 1, F3 would come back while F4 still reads it.
TEST(PlanSwapsV1Test, WithoutCompatASwapWithoutAGapIsDropped) {
  const Graph graph = ChainE1();
  LmsOptions options = E1Options();
  options.compat = false;
  options.v1.ctrld_strategy = kDirectOrder;
  ASSERT_OK_AND_ASSIGN(const SwapPlan plan,
                       PlanSwaps(options, StandardOps(), graph));
  EXPECT_FALSE(Triggers(plan, graph).contains("opt/B3"));
  EXPECT_TRUE(Triggers(plan, graph).contains("opt/B2"));
}

TEST(PlanSwapsV1Test, SmallTensorsStayUnderASizeThreshold) {
  const Graph graph = ChainE1();
  LmsOptions options = E1Options();
  options.size_threshold_bytes = 1025;  // each has 1024
  ASSERT_OK_AND_ASSIGN(const SwapPlan plan,
                       PlanSwaps(options, StandardOps(), graph));
  EXPECT_TRUE(plan.swaps.empty());
  EXPECT_EQ(plan.dropped.size(), 4U);
}

TEST(PlanSwapsV1Test, AScopeThatMatchesNothingListsTheScopesThereAre) {
  LmsOptions options = E1Options();
  options.compat = false;
  options.v1.optimizer_scopes = {"op"};  // not a whole path component
  EXPECT_THAT(PlanSwaps(options, StandardOps(), ChainE1()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("F1, F2, F3, F4, opt")));
}

}  // namespace
}  // namespace spillway
