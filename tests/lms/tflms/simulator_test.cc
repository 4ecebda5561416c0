// TFLMS's simulator: the published peaks of the chain E1, hand-made cases, and
// its naive twin over random graphs.
#include "lms/tflms/simulator.h"

#include <fmt/format.h>

#include <limits>
#include <set>
#include <string>

#include "tests/lms/tflms/naive_tflms.h"
#include "tests/lms/v2/random_v2_case.h"
#include "tests/support/random_graph.h"
#include "tests/support/small_graphs.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using testing::AddPlanNode;
using testing::ChainGraph;
using ::testing::HasSubstr;
using testing::LeastCases;
using testing::NaiveTflms;
using testing::NumCases;
using testing::RandomV2Case;
using testing::StatusIs;

constexpr int64_t kPlenty = int64_t{1} << 50;

const TensorType kOneGib = {.dtype = DType::kFloat32, .shape = {16384, 16384}};

std::unique_ptr<TflmsSimulator> Simulator(const Graph& graph,
                                          const TflmsLimits& limits) {
  auto simulator = TflmsSimulator::Create({.compat = true}, limits, graph);
  EXPECT_THAT(simulator, testing::IsOk());
  return *std::move(simulator);
}

struct Peaks {
  TflmsSet set = {};
  int64_t device_gib = 0;
  int64_t host_gib = 0;
};

TEST(TflmsSimulatorTest, PeaksOfTheChainAreThePublishedOnes) {
  const Graph graph = ChainGraph(4, kOneGib);
  const auto simulator =
      Simulator(graph, {.device_bytes = 64_GiB, .memory_ratio = 1});
  EXPECT_EQ(simulator->num_levels(), 9);
  const std::vector<Peaks> expected = {
      {{9, 1, 0, 0}, 5, 0}, {{1, 1, 0, 0}, 4, 3}, {{1, 1, 0, 1}, 4, 3},
      {{1, 1, 0, 2}, 3, 3}, {{1, 1, 0, 3}, 3, 3}, {{3, 1, 0, 0}, 4, 2},
      {{5, 1, 0, 0}, 4, 1}, {{1, 3, 0, 0}, 5, 3}, {{1, 9, 0, 0}, 3, 3}};
  for (const Peaks& peaks : expected) {
    SCOPED_TRACE(fmt::format("threshold {}, ahead {}, sync mode {}",
                             peaks.set.swapout_threshold,
                             peaks.set.swapin_ahead, peaks.set.sync_mode));
    const TflmsPlay play = simulator->Play(peaks.set);
    EXPECT_TRUE(play.passed);
    EXPECT_EQ(play.peak_device_bytes, peaks.device_gib * 1_GiB);
    EXPECT_EQ(play.peak_host_bytes, peaks.host_gib * 1_GiB);
    EXPECT_FALSE(play.host_warning);
  }
}

TEST(TflmsSimulatorTest, ATensorAsLargeAsWhatIsFreeDoesNotFit) {
  const Graph graph = ChainGraph(4, kOneGib);
  const TflmsPlay fails =
      Simulator(graph, {.device_bytes = 4_GiB, .memory_ratio = 1})->Play({});
  EXPECT_FALSE(fails.passed);
  EXPECT_EQ(graph.node(fails.failed_node).name, "opt/B3");
  EXPECT_EQ(graph.ValueName(fails.failed_value), "opt/B3:0");
  // The step is simulated to its end nevertheless.
  EXPECT_EQ(fails.peak_device_bytes, 4_GiB);
  EXPECT_TRUE(Simulator(graph, {.device_bytes = 4_GiB + 1, .memory_ratio = 1})
                  ->Play({})
                  .passed);
}

TEST(TflmsSimulatorTest, AFullHostIsAWarningOnly) {
  const Graph graph = ChainGraph(4, kOneGib);
  TflmsLimits limits = {.device_bytes = 64_GiB, .host_bytes = 3_GiB};
  const TflmsPlay full = Simulator(graph, limits)->Play({});
  EXPECT_TRUE(full.passed);
  EXPECT_TRUE(full.host_warning);
  EXPECT_EQ(full.peak_host_bytes, 3_GiB);
  limits.host_bytes = 3_GiB + 1;
  EXPECT_FALSE(Simulator(graph, limits)->Play({}).host_warning);
  limits.host_bytes = 0;
  EXPECT_TRUE(Simulator(graph, limits)->Play({}).host_warning);
  EXPECT_FALSE(
      Simulator(graph, limits)->Play({.swapout_threshold = 9}).host_warning);
}

// A trainable variable of 1 MiB, and one that is not trainable.
Graph GraphWithVariables() {
  Graph graph = ChainGraph(1);
  for (const bool trainable : {true, false}) {
    const NodeId id = graph.AddNode({.name = trainable ? "weight" : "average",
                                     .op = "Variable",
                                     .outputs = {testing::DefaultType()},
                                     .attributes = {{"trainable", trainable}}});
    AddPlanNode(graph, "read_" + graph.node(id).name, "Op",
                {graph.node(id).name + ":0"});
  }
  return graph;
}

TEST(TflmsSimulatorTest, VariablesThatTrainAreTakenOffTheCapacity) {
  const Graph graph = GraphWithVariables();
  EXPECT_EQ(Simulator(graph, {.device_bytes = 11_MiB})->capacity_bytes(),
            9_MiB);
  EXPECT_EQ(Simulator(graph, {.device_bytes = 1_MiB + 1})->capacity_bytes(), 1);
  EXPECT_EQ(Simulator(graph, {.device_bytes = 1_MiB + 10, .memory_ratio = 0.55})
                ->capacity_bytes(),
            6);
  EXPECT_THAT(TflmsSimulator::Create({}, {.device_bytes = 1_MiB}, graph),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("variables of 1048576 bytes")));
}

TEST(TflmsSimulatorTest, AVariableThatTrainsCountsWhileItsReadersRun) {
  Graph graph;
  graph.AddNode({.name = "weight",
                 .op = "Variable",
                 .outputs = {testing::DefaultType()}});
  AddPlanNode(graph, "a", "Op", {"weight:0"});
  AddPlanNode(graph, "b", "Op", {"a:0"});
  EXPECT_EQ(
      Simulator(graph, {.device_bytes = 1_GiB})->Play({}).peak_device_bytes,
      2_MiB);  // weight and a
}

// `far` needs x and the variable, which starts nothing: so `far` brings x back
// for both of its readers, and one count is never released.
TEST(TflmsSimulatorTest, ATensorThatNothingBringsBackStays) {
  Graph graph;
  graph.AddNode({.name = "weight",
                 .op = "Variable",
                 .outputs = {testing::DefaultType()}});
  AddPlanNode(graph, "x", "Op", {});
  NodeId before = AddPlanNode(graph, "near", "Op", {"x:0"});
  for (int i = 0; i < 2; ++i) {
    before = graph.AddNode({.name = fmt::format("wait{}", i),
                            .op = "Op",
                            .control_inputs = {before}});
  }
  const NodeId far = AddPlanNode(graph, "far", "Op", {"x:0", "weight:0"});
  graph.AddControlEdge(before, far);
  AddPlanNode(graph, "y", "Op", {"far:0"},
              {.dtype = DType::kFloat32, .shape = {512, 1024}});
  AddPlanNode(graph, "z", "Op", {"y:0"});
  const TflmsPlay play = Simulator(graph, {.device_bytes = 1_GiB})->Play({});
  EXPECT_EQ(play.missing_triggers, 1);
  EXPECT_EQ(play.peak_device_bytes, 4_MiB);  // x, far and the 2 MiB of y
  EXPECT_EQ(play.peak_host_bytes, 1_MiB);
}

TEST(TflmsSimulatorTest, LimitsThatMakeNoSenseAreNamed) {
  const Graph graph = ChainGraph();
  const auto expect_refused = [&](const TflmsLimits& limits, const char* what) {
    EXPECT_THAT(TflmsSimulator::Create({}, limits, graph),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  expect_refused({}, "device memory to tune for is 0 bytes");
  expect_refused({.device_bytes = -1}, "device memory to tune for is -1");
  expect_refused({.device_bytes = 1_GiB, .host_bytes = -1},
                 "host memory to tune for is -1");
  for (const double ratio :
       {0.0, -0.5, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    expect_refused({.device_bytes = 1_GiB, .memory_ratio = ratio},
                   "lms_sim_mem_ratio is");
  }
}

TEST(TflmsSimulatorTest, LoopsAndEditedGraphsAreRefused) {
  const TflmsLimits limits = {.device_bytes = 1_GiB};
  Graph loop = ChainGraph();
  AddPlanNode(loop, "main/while/body", "Op", {"F1:0"});
  EXPECT_THAT(TflmsSimulator::Create({}, limits, loop),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("main/while/body is in a loop")));
  Graph edited = ChainGraph();
  AddPlanNode(edited, "lms/swapout_F1_0", "SwapOut", {"F1:0"});
  EXPECT_THAT(TflmsSimulator::Create({}, limits, edited),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("edited for LMS already")));
}

struct SimulatedTotals {
  int64_t swapped = 0;
  int64_t failed = 0;
  int64_t warned = 0;
  int64_t missing = 0;
  int64_t never_started = 0;
};

TflmsSet SetOf(const LmsOptions& options) {
  return {options.v2.swapout_threshold, options.v2.swapin_ahead,
          options.v2.swapin_groupby, options.v2.sync_mode};
}

void ExpectEqual(const TflmsPlay& play, const NaiveTflms& naive,
                 const Graph& graph) {
  EXPECT_EQ(play.passed, naive.passed);
  EXPECT_EQ(play.host_warning, naive.host_warning);
  EXPECT_EQ(play.peak_device_bytes, naive.peak_device_bytes);
  EXPECT_EQ(play.peak_host_bytes, naive.peak_host_bytes);
  EXPECT_EQ(play.missing_triggers, naive.missing);
  EXPECT_EQ(play.failed_node.value(), naive.failed_op);
  if (!play.failed_value.is_valid()) return;
  const Value& failed = graph.value(play.failed_value);
  EXPECT_EQ(std::pair(failed.producer.value(), failed.index),
            naive.failed_tensor);
}

// Simulates the options, once with plenty of memory and once with a part of
// what that needed; with the same simulator, to test the state that it keeps.
void CheckPlays(const Graph& graph, LmsOptions options, RandomV2Case& random,
                SimulatedTotals& totals) {
  const auto probe = TflmsSimulator::Create(
      options, {.device_bytes = kPlenty, .memory_ratio = 1}, graph);
  ASSERT_THAT(probe, testing::IsOk());
  const TflmsPlay plenty = (*probe)->Play(SetOf(options));
  const int64_t variables = kPlenty - (*probe)->capacity_bytes();
  const int64_t device =
      plenty.peak_device_bytes / 8 * (4 + random.Below(6)) + 1;
  const int64_t host = plenty.peak_host_bytes / 4 * (2 + random.Below(4));
  const auto simulator =
      TflmsSimulator::Create(options,
                             {.device_bytes = variables + device,
                              .memory_ratio = 1,
                              .host_bytes = host},
                             graph);
  ASSERT_THAT(simulator, testing::IsOk());
  ASSERT_EQ((*simulator)->capacity_bytes(), device);
  for (int i = 0; i < 4; ++i) {
    NaiveTflms naive(graph, options,
                     {.device_bytes = device, .host_bytes = host});
    naive.Play();
    const TflmsPlay play = (*simulator)->Play(SetOf(options));
    ExpectEqual(play, naive, graph);
    totals.swapped += play.peak_host_bytes > 0 ? 1 : 0;
    totals.failed += play.passed ? 0 : 1;
    totals.warned += play.host_warning ? 1 : 0;
    totals.missing += play.missing_triggers;
    totals.never_started += naive.never_started;
    options.v2.swapout_threshold = 1 + random.Below(6);
    options.v2.swapin_ahead = 1 + random.Below(random.Below(3) == 0 ? 15 : 3);
    options.v2.swapin_groupby = random.Below(2) == 0 ? 0 : random.Below(8);
    options.v2.sync_mode = random.Below(4);
  }
}

void ExpectEverythingHappened(const SimulatedTotals& totals) {
  EXPECT_GT(totals.swapped, LeastCases(100));
  EXPECT_GT(totals.failed, LeastCases(100));
  EXPECT_GT(totals.warned, LeastCases(50));
  EXPECT_GT(totals.missing, LeastCases(100));
}

TEST(TflmsSimulatorTest, PlaysAreThoseOfTheTwinOnGraphsOfAnything) {
  SimulatedTotals totals;
  for (uint32_t seed = 0; seed < NumCases(800) && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    RandomV2Case random(seed);
    const Graph graph = random.MakeGraph(/*with_loops=*/false);
    CheckPlays(graph, random.MakeOptions(graph), random, totals);
  }
  ExpectEverythingHappened(totals);
  EXPECT_GT(totals.never_started, LeastCases(100));
}

TEST(TflmsSimulatorTest, PlaysAreThoseOfTheTwinOnTrainingGraphs) {
  SimulatedTotals totals;
  for (uint32_t seed = 0; seed < NumCases(100) && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    RandomV2Case random(seed);
    const Graph graph = testing::RandomTrainingGraph(
        {.seed = seed, .forward_nodes = 4 + random.Below(16)});
    CheckPlays(graph,
               {.mode = LmsMode::kV2,
                .compat = true,
                .v2 = {.swapout_threshold = 1,
                       .swapin_ahead = 1,
                       .swapin_groupby = 0}},
               random, totals);
  }
  ExpectEverythingHappened(totals);
}

}  // namespace
}  // namespace spillway
