#include "tuner/saved_plan.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "fmt/format.h"
#include "graph/format/json_format.h"
#include "nlohmann/json.hpp"
#include "tests/support/random_graph.h"
#include "tests/support/status_matchers.h"
#include "tests/tuner/made_plan.h"

namespace spillway {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::MakePlan;
using testing::NoOps;
using testing::RandomTrainingGraph;
using testing::StatusIs;
using Json = nlohmann::ordered_json;

using testing::kInvalid;

std::vector<LmsOptions> SomeOptions() {
  std::vector<LmsOptions> all = {
      {.mode = LmsMode::kOff},
      {.mode = LmsMode::kV1},
      {.mode = LmsMode::kV1, .v1 = {.lb = 3, .fuse_swapins = true}},
      {.mode = LmsMode::kV1,
       .v1 = {.n_tensors = 4,
              .ctrld_strategy = ControlStrategy::kDirectOrder,
              .swap_branches = true}}};
  for (const int64_t sync_mode : {0, 1, 2, 3}) {
    all.push_back({.mode = LmsMode::kV2,
                   .v2 = {.swapout_threshold = 2,
                          .swapin_ahead = 1,
                          .swapin_groupby = 0,
                          .sync_mode = sync_mode,
                          .serialization = {"2:6"}}});
  }
  return all;
}

void ExpectSameSwaps(const SwapPlan& plan, const SwapPlan& expected) {
  ASSERT_EQ(plan.swaps.size(), expected.swaps.size());
  for (size_t i = 0; i < plan.swaps.size(); ++i) {
    const Swap& swap = plan.swaps[i];
    EXPECT_EQ(swap.value, expected.swaps[i].value);
    EXPECT_EQ(swap.waiters, expected.swaps[i].waiters);
    ASSERT_EQ(swap.swap_ins.size(), expected.swaps[i].swap_ins.size());
    for (size_t j = 0; j < swap.swap_ins.size(); ++j) {
      EXPECT_EQ(swap.swap_ins[j].readers,
                expected.swaps[i].swap_ins[j].readers);
      EXPECT_EQ(swap.swap_ins[j].triggers,
                expected.swaps[i].swap_ins[j].triggers);
      EXPECT_EQ(swap.swap_ins[j].aliases,
                expected.swaps[i].swap_ins[j].aliases);
    }
  }
  ASSERT_EQ(plan.orders.size(), expected.orders.size());
  for (size_t i = 0; i < plan.orders.size(); ++i) {
    EXPECT_EQ(plan.orders[i].before, expected.orders[i].before);
    EXPECT_EQ(plan.orders[i].after, expected.orders[i].after);
  }
}

void ExpectSamePlan(const SavedPlan& plan, const SavedPlan& expected) {
  ExpectSameSwaps(plan.recipe.swaps, expected.recipe.swaps);
  EXPECT_EQ(plan.recipe.name, expected.recipe.name);
  EXPECT_EQ(plan.recipe.options.mode, expected.recipe.options.mode);
  EXPECT_EQ(plan.recipe.options.v1.lb, expected.recipe.options.v1.lb);
  EXPECT_EQ(plan.recipe.options.v2.sync_mode,
            expected.recipe.options.v2.sync_mode);
  EXPECT_EQ(plan.recipe.placement.index, expected.recipe.placement.index);
  EXPECT_EQ(plan.recipe.placement.within_bytes,
            expected.recipe.placement.within_bytes);
  EXPECT_EQ(plan.recipe.algorithms, expected.recipe.algorithms);
  EXPECT_EQ(plan.recipe.schedule.order, expected.recipe.schedule.order);
  EXPECT_TRUE(std::ranges::equal(plan.recipe.schedule.step_of,
                                 expected.recipe.schedule.step_of));
  EXPECT_TRUE(std::ranges::equal(plan.recipe.placement.expected_ns,
                                 expected.recipe.placement.expected_ns,
                                 [](const Interval& a, const Interval& b) {
                                   return a.begin == b.begin && a.end == b.end;
                                 }));
  EXPECT_EQ(plan.fingerprint, expected.fingerprint);
  EXPECT_EQ(plan.fetches, expected.fetches);
  EXPECT_EQ(plan.device_memory, expected.device_memory);
  EXPECT_EQ(plan.host_memory, expected.host_memory);
  EXPECT_EQ(plan.device_bytes, expected.device_bytes);
  EXPECT_EQ(plan.host_bytes, expected.host_bytes);
  EXPECT_EQ(plan.step_ns, expected.step_ns);
}

TEST(SavedPlanTest, AlgorithmsComeBackByNode) {
  const Graph graph = RandomTrainingGraph({.seed = 1});
  ASSERT_OK_AND_ASSIGN(SavedPlan plan,
                       MakePlan(graph, {.mode = LmsMode::kOff}));
  plan.recipe.algorithms = AlgorithmNames(graph.num_nodes());
  plan.recipe.algorithms[NodeId(2)] = "implicit gemm";
  plan.recipe.algorithms[NodeId(5)] = "direct \"3\"";
  Json json = *ParseJson(FormatSavedPlan(plan, graph).value(), "text");
  EXPECT_EQ(json["algorithms"].size(), 2);
  ASSERT_OK_AND_ASSIGN(const SavedPlan parsed,
                       ParseSavedPlan(FormatJson(json), "file", graph));
  ExpectSamePlan(parsed, plan);

  json["algorithms"]["nowhere"] = "direct";
  EXPECT_THAT(ParseSavedPlan(FormatJson(json), "file", graph),
              StatusIs(kInvalid, HasSubstr("algorithms: field \"nowhere\" "
                                           "names no node of this graph")));
  json["algorithms"] = {1, 2};
  EXPECT_THAT(ParseSavedPlan(FormatJson(json), "file", graph),
              StatusIs(kInvalid, HasSubstr("\"algorithms\" must be")));
}

TEST(SavedPlanTest, ComesBackAsItWas) {
  size_t waiters = 0;
  size_t orders = 0;
  size_t repeated = 0;  // tensors with several copies back
  size_t aliases = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Graph graph = RandomTrainingGraph(
        {.seed = seed, .alias_probability = seed % 2 == 0 ? 0.0 : 0.3});
    for (const LmsOptions& options : SomeOptions()) {
      SCOPED_TRACE(fmt::format("seed {}, {}, sync mode {}", seed,
                               std::string(LmsModeName(options.mode)),
                               options.v2.sync_mode));
      ASSERT_OK_AND_ASSIGN(const SavedPlan plan, MakePlan(graph, options));
      ASSERT_OK_AND_ASSIGN(const std::string text,
                           FormatSavedPlan(plan, graph));
      ASSERT_OK_AND_ASSIGN(const SavedPlan parsed,
                           ParseSavedPlan(text, "file", graph));
      ExpectSamePlan(parsed, plan);
      EXPECT_EQ(FormatSavedPlan(parsed, graph).value(), text);
      orders += plan.recipe.swaps.orders.size();
      for (const Swap& swap : plan.recipe.swaps.swaps) {
        waiters += swap.waiters.size();
        if (swap.swap_ins.size() > 1) ++repeated;
        for (const SwapIn& swap_in : swap.swap_ins) {
          aliases += swap_in.aliases.size();
        }
      }
    }
  }
  EXPECT_GT(waiters, 0u);
  EXPECT_GT(orders, 0u);
  EXPECT_GT(repeated, 0u);
  EXPECT_GT(aliases, 0u);
}

TEST(SavedPlanTest, TimesAndBudgetsMayBeLeftOut) {
  const Graph graph = RandomTrainingGraph({.seed = 3});
  ASSERT_OK_AND_ASSIGN(SavedPlan plan, MakePlan(graph, {.mode = LmsMode::kV1}));
  plan.recipe.placement = {};
  plan.device_memory = std::nullopt;
  plan.host_memory = 0;
  ASSERT_OK_AND_ASSIGN(
      const SavedPlan parsed,
      ParseSavedPlan(FormatSavedPlan(plan, graph).value(), "file", graph));
  ExpectSamePlan(parsed, plan);
}

// A graph as JSON, with one change at a time.
TEST(GraphFingerprintTest, ChangesWithTheGraphAndWithNothingElse) {
  const Graph graph = RandomTrainingGraph({.seed = 1, .forward_nodes = 6});
  const std::string fingerprint = GraphFingerprint(graph);
  EXPECT_EQ(fingerprint.size(), 16u);
  EXPECT_EQ(fingerprint.find_first_not_of("0123456789abcdef"),
            std::string::npos);
  const Graph copy = graph;
  EXPECT_EQ(GraphFingerprint(copy), fingerprint);
  ASSERT_OK_AND_ASSIGN(const Graph read,
                       ParseGraph(FormatGraph(graph), "file", NoOps()));
  EXPECT_EQ(GraphFingerprint(read), fingerprint);

  std::vector<std::string> seen = {fingerprint};
  const auto expect_new = [&](const Graph& changed, const std::string& what) {
    const std::string other = GraphFingerprint(changed);
    EXPECT_EQ(std::ranges::count(seen, other), 0) << what;
    seen.push_back(other);
  };
  Graph changed = graph;
  const NodeId last(graph.num_nodes() - 1);
  changed.AddControlEdge(NodeId(0), last);
  expect_new(changed, "control edge");
  ASSERT_OK_AND_ASSIGN(const Json json, ParseJson(FormatGraph(graph), "graph"));
  for (size_t i = 0; i < json["nodes"].size(); ++i) {
    const auto expect_new_with = [&](const char* field, const Json& value) {
      Json other = json;
      other["nodes"][i][field] = value;
      ASSERT_OK_AND_ASSIGN(const Graph parsed,
                           ParseGraph(other.dump(), "file", NoOps()));
      expect_new(parsed, fmt::format("{} of node {}", field, i));
    };
    expect_new_with("op", "AnotherOp");
    expect_new_with("attrs", {{"axis", 1}});
    expect_new_with("attrs", {{"axis", 2}});
    Json outputs = json["nodes"][i]["outputs"];
    if (outputs.empty()) continue;
    outputs[0]["shape"] = {3, 1, 4};
    expect_new_with("outputs", outputs);
    outputs[0]["dtype"] = "int32";
    expect_new_with("outputs", outputs);
  }
}

TEST(SavedPlanTest, APlanOfAnotherGraphTellsBothFingerprints) {
  const Graph graph = RandomTrainingGraph({.seed = 1});
  const Graph other = RandomTrainingGraph({.seed = 2});
  ASSERT_OK_AND_ASSIGN(const SavedPlan plan,
                       MakePlan(graph, {.mode = LmsMode::kV1}));
  EXPECT_THAT(
      ParseSavedPlan(FormatSavedPlan(plan, graph).value(), "some/file", other),
      StatusIs(kInvalid,
               AllOf(HasSubstr("some/file"), HasSubstr(GraphFingerprint(graph)),
                     HasSubstr(GraphFingerprint(other)))));
  EXPECT_THAT(FormatSavedPlan(plan, other),
              StatusIs(kInvalid, AllOf(HasSubstr(GraphFingerprint(graph)),
                                       HasSubstr(GraphFingerprint(other)))));
}

TEST(SavedPlanTest, ARecipeThatDoesNotFitTheGraphIsNotWritten) {
  const Graph graph = RandomTrainingGraph({.seed = 1});
  ASSERT_OK_AND_ASSIGN(const SavedPlan good,
                       MakePlan(graph, {.mode = LmsMode::kV1}));
  ASSERT_FALSE(good.recipe.swaps.swaps.empty());
  const auto expect_refused = [&](const auto& damage) {
    SavedPlan plan = good;
    damage(plan.recipe);
    EXPECT_THAT(FormatSavedPlan(plan, graph), StatusIs(kInvalid, _));
    EXPECT_THAT(
        ApplyRecipe(plan.recipe, graph).status().ok() &&
            CheckFits(plan.recipe, *ApplyRecipe(plan.recipe, graph)).ok(),
        false);
  };
  expect_refused([&](StepRecipe& recipe) {
    recipe.swaps.swaps[0].value = ValueId(graph.num_values());
  });
  expect_refused([](StepRecipe& recipe) {
    recipe.swaps.swaps[0].swap_ins[0].triggers = {NodeId()};
  });
  expect_refused([](StepRecipe& recipe) {
    recipe.swaps.orders.push_back({.before = NodeId(1), .after = NodeId(1)});
  });
  expect_refused([](StepRecipe& recipe) {
    recipe.schedule.order.push_back(NodeId(1'000'000));
  });
  expect_refused(
      [](StepRecipe& recipe) { recipe.placement.expected_ns.resize(1); });
}

TEST(SavedPlanTest, AFieldThatNoPlanHasIsNamed) {
  const Graph graph = RandomTrainingGraph({.seed = 1});
  ASSERT_OK_AND_ASSIGN(const SavedPlan plan,
                       MakePlan(graph, {.mode = LmsMode::kV1}));
  Json json = *ParseJson(FormatSavedPlan(plan, graph).value(), "text");
  json["swaps"][0]["trigers"] = Json::array();
  EXPECT_THAT(ParseSavedPlan(FormatJson(json), "file", graph),
              StatusIs(kInvalid, HasSubstr("unknown field \"trigers\"")));
}

}  // namespace
}  // namespace spillway
