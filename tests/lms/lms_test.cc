#include "lms/lms.h"

#include <random>

#include "base/units.h"
#include "executor/plan/compile.h"
#include "executor/plan/floor.h"
#include "executor/plan/verify_plan.h"
#include "graph/format/json_format.h"
#include "lms/verify_swaps.h"
#include "tests/lms/chain_e1.h"
#include "tests/support/random_graph.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using testing::ChainE1;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::LeastCases;
using testing::NumCases;
using testing::RandomTrainingGraph;
using testing::StatusIs;

LmsOptions RandomV1Options(std::mt19937& random) {
  const auto up_to = [&](int n) {
    return static_cast<int64_t>(random() % static_cast<uint32_t>(n));
  };
  LmsOptions options{.mode = LmsMode::kV1};
  options.v1.n_tensors = up_to(4) == 0 ? up_to(6) : -1;
  options.v1.lb = up_to(6);
  options.v1.ub = up_to(2) == 0 ? 10000 : options.v1.lb + 2 + up_to(8);
  options.v1.ctrld_strategy = up_to(2) == 0 ? ControlStrategy::kChainRule
                                            : ControlStrategy::kDirectOrder;
  options.v1.fuse_swapins = up_to(3) == 0;
  options.v1.swap_branches = up_to(3) == 0;
  options.v1.branch_threshold = up_to(3);
  options.size_threshold_bytes = up_to(3) == 0 ? up_to(4096) : 0;
  return options;
}

// Compiles with the least memory and with a random budget above it, and
// verifies both plans.
void ExpectPlansAreValid(const Graph& graph, std::mt19937& random) {
  const OpRegistry ops;
  ASSERT_OK_AND_ASSIGN(const Schedule schedule,
                       MakeSchedule(graph, ops, NodesToRun(graph, ops, {})));
  CompileOptions options;
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan least,
                       CompilePlan(graph, ops, schedule, options));
  EXPECT_THAT(VerifyPlan(least, graph, ops), IsOk());
  EXPECT_GE(least.device_bytes + kBufferAlignment,
            least.device_lower_bound_bytes);
  EXPECT_LE(FindFloor(graph, ops, schedule, options).bytes,
            least.device_bytes + kBufferAlignment);
  options.device_budget_bytes =
      least.device_bytes +
      static_cast<int64_t>(random() % static_cast<uint32_t>(8_KiB));
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan roomy,
                       CompilePlan(graph, ops, schedule, options));
  EXPECT_THAT(VerifyPlan(roomy, graph, ops), IsOk());
  EXPECT_LE(roomy.device_bytes, *options.device_budget_bytes);
}

TEST(LmsTest, RandomEditsAreEquivalentAndTheirPlansValid) {
  int64_t swaps = 0;
  int64_t aliases = 0;
  for (uint32_t seed = 0; seed < NumCases(300); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const Graph original = RandomTrainingGraph(
        {.seed = seed,
         .forward_nodes = 5 + static_cast<int>(random() % 25),
         .alias_probability = seed % 2 == 0 ? 0.3 : 0});
    const LmsOptions options = RandomV1Options(random);
    Graph edited = original;
    ASSERT_OK_AND_ASSIGN(const LmsReport report, ApplyLms(options, edited));
    ASSERT_OK_AND_ASSIGN(const SwapPlan plan, PlanSwaps(options, original));
    const StorageMap storages = StorageMap::Of(original, StandardOps());
    EXPECT_THAT(
        VerifySwaps(original, edited, {.plan = plan, .storages = &storages}),
        IsOk());
    const int64_t added = report.added_ops - report.swap_outs - report.swap_ins;
    if (seed % 2 == 1) {
      EXPECT_EQ(added, 0);
    }
    ExpectPlansAreValid(edited, random);
    swaps += report.swap_outs;
    aliases += added;
  }
  EXPECT_GT(swaps, LeastCases(300));
  EXPECT_GT(aliases, LeastCases(30));
}

// The original leaves swap-ins without a trigger; plans must be valid for these
// too.
TEST(LmsTest, RandomCompatibleEditsAreEquivalentAndTheirPlansValid) {
  for (uint32_t seed = 1000; seed < 1200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const Graph original = RandomTrainingGraph(
        {.seed = seed, .alias_probability = seed % 2 == 0 ? 0.3 : 0});
    LmsOptions options = RandomV1Options(random);
    options.compat = true;
    Graph edited = original;
    ASSERT_OK_AND_ASSIGN(const LmsReport report, ApplyLms(options, edited));
    ExpectPlansAreValid(edited, random);
  }
}

TEST(LmsTest, SwappingTheWholeChainAddsTwoNodesATensor) {
  Graph graph = ChainE1();
  ASSERT_OK_AND_ASSIGN(
      const LmsReport report,
      ApplyLms({.mode = LmsMode::kV1, .v1 = {.optimizer_scopes = {"opt"}}},
               graph));
  EXPECT_EQ(report.swap_tensors, 3);
  EXPECT_EQ(report.added_ops, 6);
  EXPECT_EQ(report.out_bytes, 3 * 1024);
  EXPECT_EQ(report.in_bytes, 3 * 1024);
  ASSERT_EQ(report.dropped.size(), 1U);
  EXPECT_EQ(report.dropped[0].tensor, "F4:0");
  EXPECT_TRUE(graph.FindNode("lms/swapout_F1_0").has_value());
  EXPECT_TRUE(graph.FindNode("lms/swapin_F1_0").has_value());
}

TEST(LmsTest, TheLogHasTheLinesThatUsersLookFor) {
  Graph graph = ChainE1();
  const LmsOptions options{.mode = LmsMode::kV1,
                           .compat = true,
                           .v1 = {.optimizer_scopes = {"opt"}}};
  ASSERT_OK_AND_ASSIGN(LmsReport report, ApplyLms(options, graph));
  report.edit_ns = 1500000;
  const std::vector<std::string> expected = {
      "[LMS][0] Editing model for LMS",
      "[LMS][0] n_tensors: all tensors",
      "[LMS][0] lb: 1",
      "[LMS][0] Edited model is valid and logically equivalent to the original "
      "one",
      "[LMS][0] Added 8 ops into the model",
      "[LMS][0] Editing model for LMS, took: 1.500 ms",
      "[LMS][0] 4 tensors will be swapped out(in) to(from) the host"};
  EXPECT_EQ(LogLines(options, report), expected);
}

TEST(LmsTest, NTensorsOfZeroDisablesIt) {
  Graph graph = ChainE1();
  const LmsOptions options{.mode = LmsMode::kV1,
                           .v1 = {.optimizer_scopes = {"opt"}, .n_tensors = 0}};
  ASSERT_OK_AND_ASSIGN(const LmsReport report, ApplyLms(options, graph));
  EXPECT_EQ(graph.num_nodes(), ChainE1().num_nodes());
  EXPECT_EQ(LogLines(options, report)[0],
            "[LMS][0] LMS is disabled and will not modify the model.");
}

TEST(LmsTest, AnErrorLeavesTheGraphAsItWas) {
  const std::string before = FormatGraph(ChainE1());
  Graph graph = ChainE1();
  const std::vector<std::pair<LmsOptions, std::string>> bad = {
      {{.mode = LmsMode::kV1, .v1 = {.optimizer_scopes = {"none"}}}, "none"},
      {{.mode = LmsMode::kV1, .v1 = {.optimizer_scopes = {"opt"}, .lb = -1}},
       "lms_lb"},
      {{.mode = LmsMode::kV1,
        .v1 = {.optimizer_scopes = {"opt"}, .lb = 4, .ub = 4}},
       "lms_ub"},
      {{.mode = LmsMode::kV1,
        .v1 = {.optimizer_scopes = {"opt"}, .n_tensors = -2}},
       "lms_n_tensors"},
      {{.mode = LmsMode::kV1,
        .size_threshold_bytes = -1,
        .v1 = {.optimizer_scopes = {"opt"}}},
       "lms_size_threshold"},
  };
  for (const auto& [options, message] : bad) {
    SCOPED_TRACE(message);
    EXPECT_THAT(
        ApplyLms(options, graph),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
    EXPECT_EQ(FormatGraph(graph), before);
  }
}

TEST(LmsTest, AnEditedGraphIsNotEditedAgain) {
  Graph graph = ChainE1();
  const LmsOptions options{.mode = LmsMode::kV1,
                           .v1 = {.optimizer_scopes = {"opt"}}};
  ASSERT_THAT(ApplyLms(options, graph), IsOk());
  const std::string before = FormatGraph(graph);
  EXPECT_THAT(ApplyLms(options, graph),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("edited for LMS already")));
  EXPECT_EQ(FormatGraph(graph), before);
}

TEST(LmsTest, DisabledItAcceptsAnEditedGraph) {
  Graph graph = ChainE1();
  ASSERT_THAT(
      ApplyLms({.mode = LmsMode::kV1, .v1 = {.optimizer_scopes = {"opt"}}},
               graph),
      IsOk());
  const std::string before = FormatGraph(graph);
  EXPECT_THAT(ApplyLms({.mode = LmsMode::kOff}, graph), IsOk());
  EXPECT_EQ(FormatGraph(graph), before);
}

}  // namespace
}  // namespace spillway
