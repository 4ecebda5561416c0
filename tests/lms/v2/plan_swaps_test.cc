#include "lms/v2/plan_swaps.h"

#include <algorithm>
#include <map>
#include <set>

#include "lms/lms.h"
#include "lms/v2/levels.h"
#include "tests/lms/chain_e1.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainE1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

LmsOptions V2Options() {
  return {
      .mode = LmsMode::kV2,
      .compat = true,
      .v2 = {.swapout_threshold = 1, .swapin_ahead = 1, .swapin_groupby = 0}};
}

using Names = std::set<std::string>;

Names NamesOf(const std::vector<NodeId>& ids, const Graph& graph) {
  Names names;
  for (const NodeId id : ids) names.insert(graph.node(id).name);
  return names;
}

// Reader -> triggers of its swap-in.
std::map<std::string, Names> TriggersByReader(const SwapPlan& plan,
                                              const Graph& graph) {
  std::map<std::string, Names> triggers;
  for (const Swap& swap : plan.swaps) {
    for (const SwapIn& swap_in : swap.swap_ins) {
      for (const NodeId reader : swap_in.readers) {
        triggers[graph.node(reader).name] = NamesOf(swap_in.triggers, graph);
      }
    }
  }
  return triggers;
}

// Tensor -> nodes that wait for its swap-out.
std::map<std::string, Names> Waiters(const SwapPlan& plan, const Graph& graph) {
  std::map<std::string, Names> waiters;
  for (const Swap& swap : plan.swaps) {
    waiters[graph.ValueName(swap.value)] = NamesOf(swap.waiters, graph);
  }
  return waiters;
}

std::set<std::pair<std::string, std::string>> Orders(const SwapPlan& plan,
                                                     const Graph& graph) {
  std::set<std::pair<std::string, std::string>> orders;
  for (const AddedOrder& order : plan.orders) {
    orders.emplace(graph.node(order.before).name, graph.node(order.after).name);
  }
  return orders;
}

struct PlanNode {
  std::string name;
  std::vector<std::string> inputs = {};
  bool on_host = false;
  std::string op = "Op";
};

Graph MakeGraph(const std::vector<PlanNode>& nodes) {
  Graph graph;
  for (const PlanNode& node : nodes) {
    NodeSpec spec{.name = node.name, .op = node.op};
    spec.outputs = {{.dtype = DType::kFloat32, .shape = {16, 16}}};
    if (node.on_host) spec.placement = Placement::kHost;
    for (const std::string& input : node.inputs) {
      spec.inputs.push_back(*graph.FindValue(input));
    }
    graph.AddNode(spec);
  }
  return graph;
}

TEST(PlanSwapsV2Test, CompatGivesThePublishedTableOfThresholds) {
  const std::map<int64_t, Names> swapped_by_threshold = {
      {1, {"F1:0", "F2:0", "F3:0"}},
      {2, {"F1:0", "F2:0", "F3:0"}},
      {3, {"F1:0", "F2:0"}},
      {4, {"F1:0", "F2:0"}},
      {5, {"F1:0"}},
      {6, {"F1:0"}},
      {7, {}},
      {8, {}}};
  for (const auto& [threshold, expected] : swapped_by_threshold) {
    SCOPED_TRACE(threshold);
    Graph graph = ChainE1();
    LmsOptions options = V2Options();
    options.v2.swapout_threshold = threshold;
    ASSERT_OK_AND_ASSIGN(const SwapPlan plan, PlanSwaps(options, graph));
    Names swapped;
    for (const Swap& swap : plan.swaps) {
      swapped.insert(graph.ValueName(swap.value));
    }
    EXPECT_EQ(swapped, expected);
    ASSERT_OK_AND_ASSIGN(const LmsReport report, ApplyLms(options, graph));
    EXPECT_EQ(report.added_ops, 2 * static_cast<int64_t>(expected.size()));
  }
}

TEST(PlanSwapsV2Test, CompatGivesThePublishedTableOfControlEdges) {
  struct Row {
    int64_t ahead;
    int64_t sync_mode;
    std::vector<std::string> triggers;  // of B1, B2, B3
  };
  const std::vector<Row> rows = {{1, 0, {"opt/B3", "opt/B4", "F4"}},
                                 {2, 0, {"opt/B4", "F4", "opt/B4"}},
                                 {3, 0, {"F4", "F3", "opt/B4"}},
                                 {1, 1, {"opt/B3", "opt/B4", "F4"}},
                                 {1, 2, {"opt/B2", "opt/B3", "opt/B4"}},
                                 {7, 2, {"opt/B2", "opt/B3", "opt/B4"}},
                                 {1, 3, {"opt/B2", "opt/B3", "opt/B4"}},
                                 {7, 3, {"opt/B2", "opt/B3", "opt/B4"}}};
  const Graph graph = ChainE1();
  for (const Row& row : rows) {
    SCOPED_TRACE(::testing::Message()
                 << "ahead " << row.ahead << " mode " << row.sync_mode);
    LmsOptions options = V2Options();
    options.v2.swapin_ahead = row.ahead;
    options.v2.sync_mode = row.sync_mode;
    ASSERT_OK_AND_ASSIGN(const SwapPlan plan, PlanSwaps(options, graph));
    const std::map<std::string, Names> expected = {
        {"opt/B1", {row.triggers[0]}},
        {"opt/B2", {row.triggers[1]}},
        {"opt/B3", {row.triggers[2]}}};
    EXPECT_EQ(TriggersByReader(plan, graph), expected);
    const bool sync_out = row.sync_mode == 1 || row.sync_mode == 3;
    const auto wait = [&](const char* name) {
      return sync_out ? Names{name} : Names{};
    };
    const std::map<std::string, Names> waiters = {
        {"F1:0", wait("F2")}, {"F2:0", wait("F3")}, {"F3:0", wait("F4")}};
    EXPECT_EQ(Waiters(plan, graph), waiters);
    EXPECT_TRUE(plan.orders.empty());
  }
}

// A -> {B, C, D} -> E -> {P, Q} -> H
Graph WideGraph() {
  return MakeGraph({{"A"},
                    {"B", {"A"}},
                    {"C", {"A"}},
                    {"D", {"A"}},
                    {"E", {"B", "C", "D"}},
                    {"P", {"E"}},
                    {"Q", {"E"}},
                    {"H", {"P", "Q"}}});
}

TEST(PlanSwapsV2Test, SerializationGivesThePublishedChains) {
  using Pairs = std::set<std::pair<std::string, std::string>>;
  struct Row {
    std::vector<std::string> levels;
    Pairs orders;
    int64_t num_levels;
  };
  const Pairs one = {{"B", "C"}, {"C", "D"}};
  const std::vector<Row> rows = {
      {{"1"}, one, 7},
      {{"1:3"}, {{"B", "C"}, {"C", "D"}, {"D", "E"}}, 7},
      {{"1:4"},
       {{"B", "C"}, {"C", "D"}, {"D", "E"}, {"E", "P"}, {"P", "Q"}},
       8},
      {{"1", "3"}, {{"B", "C"}, {"C", "D"}, {"P", "Q"}}, 8},
      {{"0"}, {}, 5}};  // the level of inputs is never chained
  for (const Row& row : rows) {
    SCOPED_TRACE(row.levels[0]);
    Graph graph = WideGraph();
    LmsOptions options = V2Options();
    options.v2.serialization = row.levels;
    options.v2.swapout_threshold = 100;
    ASSERT_OK_AND_ASSIGN(const SwapPlan plan, PlanSwaps(options, graph));
    EXPECT_EQ(Orders(plan, graph), row.orders);
    ASSERT_OK_AND_ASSIGN(const LmsReport report, ApplyLms(options, graph));
    EXPECT_EQ(report.levels, row.num_levels);
    EXPECT_EQ(FindV2Levels(graph).num_levels(), row.num_levels);
  }
}

TEST(PlanSwapsV2Test, SerializationBySizeTakesTheLevelsAboveIt) {
  const Graph graph = WideGraph();
  LmsOptions options = V2Options();
  // In KiB: level 0 touches 1, 1 touches 6, 2 touches 4, 3 touches 4, 4 3.
  options.v2.serialization_by_size_gib = 5.0 / 1024 / 1024;
  ASSERT_OK_AND_ASSIGN(const SwapPlan plan, PlanSwaps(options, graph));
  EXPECT_EQ(Orders(plan, graph).size(), 2U);
}

// Two readers of F at levels 4 and 5; if merged, the original has no single
// reader to synchronize with.
Graph TwoLateReaders() {
  return MakeGraph({{"F"},
                    {"G", {"F"}},
                    {"H", {"G"}},
                    {"I", {"H"}},
                    {"R1", {"I", "F"}},
                    {"R2", {"R1", "F"}}});
}

TEST(PlanSwapsV2Test, CompatMergesSwapInsInSyncModesWhichLeavesThemFree) {
  const Graph graph = TwoLateReaders();
  LmsOptions options = V2Options();
  options.v2.sync_mode = 2;
  options.v2.swapin_groupby = 1;
  ASSERT_OK_AND_ASSIGN(const SwapPlan plan, PlanSwaps(options, graph));
  ASSERT_EQ(plan.swaps.size(), 1U);
  ASSERT_EQ(plan.swaps[0].swap_ins.size(), 1U);
  EXPECT_TRUE(plan.swaps[0].swap_ins[0].triggers.empty());
}

TEST(PlanSwapsV2Test, WithoutCompatSyncModesDoNotMergeSwapIns) {
  const Graph graph = TwoLateReaders();
  LmsOptions options = V2Options();
  options.compat = false;
  options.v2.sync_mode = 2;
  options.v2.swapin_groupby = 1;
  ASSERT_OK_AND_ASSIGN(const SwapPlan plan, PlanSwaps(options, graph));
  const std::map<std::string, Names> expected = {{"R1", {"I"}}, {"R2", {"R1"}}};
  EXPECT_EQ(TriggersByReader(plan, graph), expected);
}

TEST(PlanSwapsV2Test, WithoutCompatAGroupWaitsForItsFirstReadersOtherInputs) {
  const Graph graph = TwoLateReaders();
  LmsOptions options = V2Options();
  options.v2.swapin_groupby = 1;
  options.v2.swapin_ahead = 4;  // no node lies that far ahead
  ASSERT_OK_AND_ASSIGN(const SwapPlan free, PlanSwaps(options, graph));
  EXPECT_TRUE(free.swaps[0].swap_ins[0].triggers.empty());
  options.compat = false;
  ASSERT_OK_AND_ASSIGN(const SwapPlan plan, PlanSwaps(options, graph));
  const std::map<std::string, Names> expected = {{"R1", {"I"}}, {"R2", {"I"}}};
  EXPECT_EQ(TriggersByReader(plan, graph), expected);
}

// F3 would come back while F4 still reads it.
TEST(PlanSwapsV2Test, WithoutCompatASwapWithoutAGapIsDropped) {
  const Graph graph = ChainE1();
  LmsOptions options = V2Options();
  options.compat = false;
  ASSERT_OK_AND_ASSIGN(const SwapPlan plan, PlanSwaps(options, graph));
  const std::map<std::string, Names> expected = {{"opt/B1", {"opt/B3"}},
                                                 {"opt/B2", {"opt/B4"}}};
  EXPECT_EQ(TriggersByReader(plan, graph), expected);
  ASSERT_EQ(plan.dropped.size(), 1U);
  EXPECT_EQ(graph.ValueName(plan.dropped[0].value), "F3:0");
  EXPECT_EQ(plan.dropped[0].reason, "no useful gap before opt/B3");
}

// Host node h is between d1 and d2; d2 also needs g, which depends on h.
//
//    d1 -> h -> d2 <- g         g -> h would close the cycle g -> h -> k -> g
//          h -> k (host) -> g
TEST(PlanSwapsV2Test, AnEdgeThatWouldCloseACycleIsLeftOutAndReported) {
  const Graph graph = MakeGraph({{"d1"},
                                 {"e", {"d1"}},
                                 {"h", {"d1"}, true},
                                 {"k", {"h"}, true},
                                 {"g", {"k", "e"}},
                                 {"d2", {"h", "g", "d1"}}});
  for (const bool compat : {false, true}) {
    LmsOptions options = V2Options();
    options.compat = compat;
    options.v2.sync_mode = 2;
    options.v2.swapout_threshold = 3;
    ASSERT_OK_AND_ASSIGN(const SwapPlan plan, PlanSwaps(options, graph));
    ASSERT_EQ(plan.swaps.size(), 1U);
    ASSERT_EQ(plan.dropped.size(), 1U);
    EXPECT_EQ(graph.ValueName(plan.dropped[0].value), "h:0");
    EXPECT_EQ(plan.dropped[0].reason,
              "the control edge g -> h would close a cycle");
    Graph edited = graph;
    EXPECT_THAT(ApplyLms(options, edited), IsOk());
  }
}

TEST(PlanSwapsV2Test, VariablesAndTheirUpdatesNeverTakePart) {
  const Graph graph = MakeGraph({{"w", {}, false, "Variable"},
                                 {"a", {"w"}},
                                 {"b", {"a"}},
                                 {"c", {"b"}},
                                 {"u", {"w", "c", "a"}, false, "ApplySgd"},
                                 {"d", {"w", "c"}}});
  LmsOptions options = V2Options();
  options.compat = false;
  ASSERT_OK_AND_ASSIGN(const SwapPlan plan, PlanSwaps(options, graph));
  EXPECT_TRUE(plan.swaps.empty());
  options.compat = true;  // the original does not know ApplySgd
  ASSERT_OK_AND_ASSIGN(const SwapPlan original, PlanSwaps(options, graph));
  ASSERT_EQ(original.swaps.size(), 1U);
  EXPECT_EQ(graph.ValueName(original.swaps[0].value), "a:0");
}

TEST(PlanSwapsV2Test, FiltersChooseSourcesAndReaders) {
  const Graph graph = ChainE1();
  const auto swapped = [&](const LmsOptions& options) {
    Names names;
    const auto plan = PlanSwaps(options, graph);
    EXPECT_THAT(plan, IsOk());
    for (const Swap& swap : plan->swaps) {
      names.insert(graph.ValueName(swap.value));
    }
    return names;
  };
  LmsOptions options = V2Options();
  options.v2.excl_output_by_scopes = {"F1"};
  EXPECT_EQ(swapped(options), Names({"F2:0", "F3:0"}));
  options = V2Options();
  options.v2.incl_input_by_scopes = {"opt/B2", "opt/B3"};
  EXPECT_EQ(swapped(options), Names({"F2:0", "F3:0"}));
  options.v2.excl_input_by_scopes = {"opt/B3"};
  EXPECT_EQ(swapped(options), Names({"F2:0"}));
  options = V2Options();
  options.v2.excl_output_by_types = {"Op"};
  EXPECT_EQ(swapped(options), Names());
}

TEST(PlanSwapsV2Test, BatchNormsOfTheOtherModeDoNotTakePart) {
  Graph graph = MakeGraph({{"a"}, {"b", {"a"}}, {"c", {"b"}}});
  NodeSpec norm{.name = "norm",
                .op = "FusedBatchNorm",
                .inputs = {*graph.FindValue("c"), *graph.FindValue("a")},
                .outputs = {{.dtype = DType::kFloat32, .shape = {16, 16}}},
                .attributes = {{"is_training", false}}};
  graph.AddNode(norm);
  LmsOptions options = V2Options();
  ASSERT_OK_AND_ASSIGN(const SwapPlan training, PlanSwaps(options, graph));
  EXPECT_TRUE(training.swaps.empty());
  options.v2.is_training = false;
  ASSERT_OK_AND_ASSIGN(const SwapPlan inference, PlanSwaps(options, graph));
  EXPECT_EQ(inference.swaps.size(), 1U);
}

TEST(PlanSwapsV2Test, SmallTensorsStayUnderASizeThreshold) {
  LmsOptions options = V2Options();
  options.size_threshold_bytes = 1025;  // each has 1024
  ASSERT_OK_AND_ASSIGN(const SwapPlan plan, PlanSwaps(options, ChainE1()));
  EXPECT_TRUE(plan.swaps.empty());
  EXPECT_EQ(plan.dropped.size(), 3U);
}

TEST(PlanSwapsV2Test, LevelsLeaveOutTheBodiesOfLoops) {
  const Graph graph =
      MakeGraph({{"a"},
                 {"while/next", {"a"}, false, "NextIteration"},
                 {"while/in", {"a"}, false, "Enter"},
                 {"while/merge", {"while/in", "while/next"}, false, "Merge"},
                 {"while/body", {"while/merge"}},
                 {"after", {"while/body"}},
                 {"while/out", {"while/merge"}, false, "Exit"},
                 {"end", {"while/out"}}});
  const V2Levels levels = FindV2Levels(graph);
  std::vector<int32_t> found(levels.level_of.begin(), levels.level_of.end());
  EXPECT_THAT(found, ElementsAre(0, -1, 1, 2, -1, -1, 3, 4));
}

}  // namespace
}  // namespace spillway
