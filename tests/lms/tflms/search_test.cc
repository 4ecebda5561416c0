#include "lms/tflms/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "lms/lms.h"
#include "lms/tflms/report.h"
#include "tests/support/random_graph.h"
#include "tests/support/small_graphs.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"

namespace spillway {
namespace {

using testing::ChainGraph;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::LeastCases;
using testing::NumCases;
using testing::RandomTrainingGraph;
using ::testing::SizeIs;
using testing::StatusIs;

// The chain E1 with tensors of 1 GiB; 9 levels.
Graph Chain() {
  return ChainGraph(4, {.dtype = DType::kFloat32, .shape = {16384, 16384}});
}

int64_t FromGib(double gib) { return static_cast<int64_t>(gib * 0x1p30); }

struct Numbers {
  int64_t threshold = -1;
  int64_t ahead = -1;
  int64_t groupby = -1;
  int64_t sync_mode = 0;
};

TflmsRequest Request(double gib, bool compat, const Numbers& numbers = {}) {
  return {.options = {.compat = compat,
                      .v2 = {.swapout_threshold = numbers.threshold,
                             .swapin_ahead = numbers.ahead,
                             .swapin_groupby = numbers.groupby,
                             .sync_mode = numbers.sync_mode}},
          .limits = {.device_bytes = FromGib(gib), .memory_ratio = 1}};
}

TflmsResult SearchIn(const Graph& graph, const TflmsRequest& request) {
  auto result = SearchTflms(request, graph);
  EXPECT_THAT(result, IsOk());
  return *std::move(result);
}

std::string TextOf(const TflmsSet& set) {
  return fmt::format("{} {} {} {}", set.swapout_threshold, set.swapin_ahead,
                     set.swapin_groupby, set.sync_mode);
}

std::string Chosen(const TflmsResult& result) {
  const LmsOptions& options = result.options;
  return TextOf({options.v2.swapout_threshold, options.v2.swapin_ahead,
                 options.v2.swapin_groupby, options.v2.sync_mode});
}

std::vector<std::string> Tried(const TflmsResult& result) {
  std::vector<std::string> tried;
  for (const TflmsTrial& trial : result.tried) {
    tried.push_back(TextOf(trial.set) + (trial.accepted ? "" : " no"));
  }
  return tried;
}

std::vector<std::string> Found(const TflmsResult& result) {
  std::vector<std::string> found;
  for (const TflmsTrial& trial : result.tried) {
    if (trial.accepted) found.push_back(TextOf(trial.set));
  }
  return found;
}

// With compat and without it.
class TflmsSearchTest : public ::testing::TestWithParam<bool> {
 protected:
  static TflmsResult Search(double gib, const Numbers& numbers = {}) {
    return SearchIn(Chain(), Request(gib, GetParam(), numbers));
  }
};

INSTANTIATE_TEST_SUITE_P(Compat, TflmsSearchTest, ::testing::Bool());

TEST_P(TflmsSearchTest, AStepThatFitsNeedsNoSwaps) {
  const TflmsResult result = Search(5.01);
  EXPECT_THAT(result.status, IsOk());
  EXPECT_FALSE(result.necessary);
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.options.mode, LmsMode::kOff);
  EXPECT_THAT(Tried(result), ElementsAre("9 1 0 0"));
  EXPECT_EQ(result.tried[0].play.peak_device_bytes, 5_GiB);
  EXPECT_EQ(result.log.back().text, "LMS is not necessary. Turned LMS off.");
  // All tensors together would exceed the free memory.
  EXPECT_TRUE(Search(5).necessary);
}

TEST_P(TflmsSearchTest, FindsThePublishedSetsIn4AndAHalfGib) {
  const TflmsResult result = Search(4.5);
  EXPECT_TRUE(result.necessary);
  EXPECT_TRUE(result.passed);
  EXPECT_THAT(Found(result), ElementsAre("1 1 0 0", "5 1 0 0", "6 1 0 0",
                                         "6 1 0 0", "6 1 9 0"));
  EXPECT_EQ(Chosen(result), "6 1 9 0");
  EXPECT_EQ(result.tried.back().play.peak_device_bytes, 4_GiB);
  EXPECT_EQ(result.tried.back().play.peak_host_bytes, 1_GiB);
  Graph graph = Chain();
  ASSERT_OK_AND_ASSIGN(const LmsReport report, ApplyLms(result.options, graph));
  EXPECT_EQ(report.swap_outs, 1);
  EXPECT_TRUE(graph.FindNode("lms/swapout_F1_0").has_value());
}

TEST_P(TflmsSearchTest, RaisesTheSyncModeIn3AndAHalfGib) {
  const TflmsResult result = Search(3.5);
  EXPECT_TRUE(result.passed);
  EXPECT_THAT(Tried(result),
              ElementsAre("9 1 0 0 no", "1 1 0 0 no", "1 1 0 1 no", "1 1 0 2",
                          "5 1 0 2 no", "2 1 0 2", "3 1 0 2", "4 1 0 2"));
  EXPECT_EQ(Chosen(result), "4 1 0 2");
  EXPECT_EQ(result.tried.back().play.peak_device_bytes, 3_GiB);
  EXPECT_EQ(result.tried.back().play.peak_host_bytes, 2_GiB);
  Graph graph = Chain();
  ASSERT_OK_AND_ASSIGN(const LmsReport report, ApplyLms(result.options, graph));
  EXPECT_EQ(report.swap_outs, 2);
  EXPECT_TRUE(graph.FindNode("lms/swapout_F1_0").has_value());
  EXPECT_TRUE(graph.FindNode("lms/swapout_F2_0").has_value());
}

TEST_P(TflmsSearchTest, NothingPassesIn2AndAHalfGib) {
  const TflmsResult result = Search(2.5);
  EXPECT_THAT(
      result.status,
      StatusIs(absl::StatusCode::kResourceExhausted,
               HasSubstr("Auto-tuning was unable to find a value for "
                         "swapout_threshold. Please specify it manually.")));
  EXPECT_THAT(result.status.ToString(),
              HasSubstr("sync_mode 2 needs least: 3.0 GiB of the 2.5 GiB"));
  EXPECT_FALSE(result.passed);
  EXPECT_THAT(Tried(result),
              ElementsAre("9 1 0 0 no", "1 1 0 0 no", "1 1 0 1 no",
                          "1 1 0 2 no", "1 1 0 3 no"));
}

TEST_P(TflmsSearchTest, EachNumberCanBeTunedAlone) {
  const TflmsResult threshold = Search(4.5, {.ahead = 1, .groupby = 0});
  EXPECT_EQ(Chosen(threshold), "6 1 0 0");
  EXPECT_THAT(Found(threshold), ElementsAre("1 1 0 0", "5 1 0 0", "6 1 0 0"));

  const TflmsResult ahead = Search(4.5, {.threshold = 6, .groupby = 2});
  EXPECT_EQ(Chosen(ahead), "6 1 2 0");
  EXPECT_THAT(Tried(ahead),
              ElementsAre("6 1 2 0", "6 5 2 0 no", "6 2 2 0 no", "6 1 2 0"));

  const TflmsResult groupby = Search(4.5, {.threshold = 6, .ahead = 1});
  EXPECT_EQ(Chosen(groupby), "6 1 9 0");
  EXPECT_THAT(Tried(groupby), ElementsAre("6 1 0 0", "6 1 9 0"));

  for (const TflmsResult& result : {threshold, ahead, groupby}) {
    EXPECT_TRUE(result.tuned);
    EXPECT_TRUE(result.passed);
    EXPECT_TRUE(result.necessary);
  }
}

TEST_P(TflmsSearchTest, NumbersThatAreGivenAreOnlyPlayed) {
  const Numbers given = {.threshold = 1, .ahead = 1, .groupby = 0};
  for (const double gib : {2.0, 4.5}) {
    const TflmsResult result = Search(gib, given);
    EXPECT_FALSE(result.tuned);
    EXPECT_EQ(result.passed, gib > 4);
    EXPECT_EQ(Chosen(result), "1 1 0 0");
    EXPECT_THAT(result.tried, SizeIs(1));
    EXPECT_EQ(result.log.front().text,
              "LMS will use the following parameter set:");
  }
}

TEST_P(TflmsSearchTest, SyncedSwapInsLeaveAheadAndGroupbyAlone) {
  const TflmsResult result = Search(3.5, {.threshold = 4, .sync_mode = 3});
  EXPECT_FALSE(result.tuned);
  EXPECT_EQ(Chosen(result), "4 1 0 3");
  EXPECT_TRUE(result.passed);
  Graph graph = Chain();
  EXPECT_THAT(ApplyLms(result.options, graph), IsOk());
  // In these modes the threshold is tuned too, starting from the given mode.
  const TflmsResult tuned = Search(3.5, {.ahead = 2, .sync_mode = 3});
  EXPECT_THAT(Found(tuned),
              ElementsAre("1 2 0 3", "2 2 0 3", "3 2 0 3", "4 2 0 3"));
}

TEST(TflmsSearchRulingsTest, AThresholdThatFailsIsTriedInTheHigherModes) {
  const TflmsResult result = SearchIn(Chain(), Request(3.5, false, {2}));
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(Chosen(result), "2 1 0 2");
  EXPECT_THAT(TflmsLogLines(result),
              Contains("[LMS][0] No parameter set of sync_mode 0 passed, so "
                       "sync_mode is 2 now."));
  // The original takes mode 3 without trying it.
  const TflmsResult original = SearchIn(Chain(), Request(3.5, true, {2}));
  EXPECT_TRUE(original.passed);
  EXPECT_EQ(Chosen(original), "2 1 0 3");
  EXPECT_THAT(Tried(original), ElementsAre("2 1 0 0 no", "2 1 0 3 no"));
}

TEST(TflmsSearchRulingsTest, WhereNothingPassesTheLeastMemoryIsTaken) {
  const TflmsResult result = SearchIn(Chain(), Request(2.5, false, {2}));
  EXPECT_THAT(result.status, IsOk());
  EXPECT_FALSE(result.passed);
  EXPECT_TRUE(result.necessary);
  EXPECT_EQ(Chosen(result), "2 1 0 2");  // the first of modes 2 and 3
  EXPECT_THAT(TflmsLogLines(result),
              Contains("[LMS][0] No parameter set passed. LMS will use that of "
                       "the least memory, which needs 3.0 GiB of the 2.5 GiB "
                       "available:"));
  const TflmsResult original = SearchIn(Chain(), Request(2.5, true, {2}));
  EXPECT_FALSE(original.passed);
  EXPECT_EQ(Chosen(original), "2 1 0 3");
}

// With ahead 9 no swap-in of the chain has a trigger; all of them wait for the
// other inputs of their reader, which takes less memory.
TEST(TflmsSearchRulingsTest, AheadIsNotRaisedUntilNothingStartsTheSwapIns) {
  const Numbers numbers = {.threshold = 1, .groupby = 0};
  const TflmsResult original = SearchIn(Chain(), Request(4.5, true, numbers));
  EXPECT_EQ(Chosen(original), "1 9 0 0");
  EXPECT_EQ(original.tried.back().play.missing_triggers, 3);
  const TflmsResult result = SearchIn(Chain(), Request(4.5, false, numbers));
  EXPECT_EQ(Chosen(result), "1 1 0 0");
  EXPECT_THAT(Tried(result),
              ElementsAre("1 1 0 0", "1 5 0 0 no", "1 2 0 0 no", "1 1 0 0"));
}

std::string Line(std::string_view text) {
  return fmt::format("[LMS][0] {}", text);
}

std::string FoundLine(std::string_view set) {
  return Line(fmt::format("[Simulator] Found a parameter set: {}", set));
}

std::string WarningLine(std::string_view set, std::string_view gib) {
  return fmt::format(
      "{} (Warning: likely to exceed host memory limit. {} GiB required)",
      FoundLine(set), gib);
}

TEST(TflmsSearchRulingsTest, TheLogHasTheLinesThatUsersLookFor) {
  TflmsRequest request = Request(5, true);
  request.limits.memory_ratio = 0.9;
  request.limits.host_bytes = 1_GiB;
  request.batch_size = 32;
  const std::string_view first =
      "swapout_threshold 1, swapin_ahead 1, swapin_groupby 0, sync_mode 0";
  const std::string_view second =
      "swapout_threshold 5, swapin_ahead 1, swapin_groupby 0, sync_mode 0";
  const std::string_view third =
      "swapout_threshold 6, swapin_ahead 1, swapin_groupby 0, sync_mode 0";
  const std::string_view last =
      "swapout_threshold 6, swapin_ahead 1, swapin_groupby 9, sync_mode 0";
  const std::vector<std::string> expected = {
      Line("Searching values for parameters: swapout_threshold, swapin_ahead, "
           "swapin_groupby and sync_mode. "),
      Line("[Simulator] Available memory for simulation: 4.5 GiB (memory "
           "ratio: 0.9)"),
      Line("[Simulator] Available CPU memory for simulation: 1.0 GiB"),
      Line("[Simulator] Batch size used for simulation: 32"),
      WarningLine(first, "3.0"),
      WarningLine(second, "1.0"),
      WarningLine(third, "1.0"),
      WarningLine(third, "1.0"),
      WarningLine(last, "1.0"),
      Line("LMS will use the latest parameter set found by Simulator for the "
           "best performance. However, if you encounter an out-of-memory "
           "error, please manually use the previous parameter set found by "
           "Simulator."),
      Line("  sync_mode: 0 (Asynchronous memory copy between host and device)"),
      Line("  swapout_threshold: 6"),
      Line("  swapin_ahead: 1"),
      Line("  swapin_groupby: 9")};
  EXPECT_EQ(TflmsLogLines(SearchIn(Chain(), request)), expected);
  request.limits.host_bytes = 1_GiB + 1;
  EXPECT_THAT(TflmsLogLines(SearchIn(Chain(), request)),
              Contains(FoundLine(last)));
}

TEST(TflmsSearchRulingsTest, BadInputIsNamed) {
  const auto expect_refused = [](const TflmsRequest& request,
                                 const char* what) {
    EXPECT_THAT(SearchTflms(request, Chain()),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  expect_refused(Request(0, false), "device memory to tune for is 0 bytes");
  expect_refused(Request(4, false, {.threshold = 0}), "lms_swapout_threshold");
  expect_refused(Request(4, false, {.threshold = -5}), "lms_swapout_threshold");
  expect_refused(Request(4, false, {.ahead = 0}),
                 "lms_swapin_ahead: 0 is neither");
  expect_refused(Request(4, false, {.groupby = -2}), "lms_swapin_groupby");
  expect_refused(Request(4, false, {.sync_mode = 4}),
                 "lms_sync_mode: 4 is not");
  TflmsRequest request = Request(4, false);
  request.options.v2.excl_output_by_types = {"NoSuchOp"};
  expect_refused(request, "NoSuchOp");
}

TEST(TflmsSearchRulingsTest, GraphsWithoutTensorsNeedNoSwaps) {
  Graph one;
  one.AddNode({.name = "alone", .op = "Op"});
  for (const Graph& graph : {Graph(), one}) {
    const TflmsResult result = SearchIn(graph, Request(1, false));
    EXPECT_FALSE(result.necessary);
    EXPECT_EQ(result.tried[0].play.peak_device_bytes, 0);
    EXPECT_TRUE(SearchIn(graph, Request(1, false, {1})).passed);
  }
}

TEST(TflmsSearchRulingsTest, FiltersKeepTensorsOutOfTheSearch) {
  TflmsRequest request = Request(4.5, false);
  request.options.v2.excl_output_by_scopes = {"F1"};
  const TflmsResult result = SearchIn(Chain(), request);
  EXPECT_TRUE(result.passed);
  EXPECT_EQ(result.options.v2.swapout_threshold, 4);  // F2 is swapped
  EXPECT_THAT(result.options.v2.excl_output_by_scopes, ElementsAre("F1"));
}

// Whether each variant of `set` with one of its numbers set to 1, 2, ..., n
// passes.
std::vector<bool> TryAll(const TflmsRequest& request, const Graph& graph,
                         TflmsSet set, int64_t TflmsSet::*number) {
  const auto simulator =
      TflmsSimulator::Create(request.options, request.limits, graph);
  EXPECT_THAT(simulator, IsOk());
  std::vector<bool> passes;
  for (int64_t i = 1; i <= (*simulator)->num_levels(); ++i) {
    set.*number = i;
    passes.push_back((*simulator)->Play(set).passed);
  }
  return passes;
}

// The highest of 1, 2, ... that passes if all below it pass and none above it
// does, as bisection assumes.
std::optional<int64_t> HighestOfPrefix(const std::vector<bool>& passes) {
  const auto end = std::ranges::find(passes, false);
  if (std::find(end, passes.end(), true) != passes.end()) return std::nullopt;
  return end - passes.begin();
}

struct Compared {
  int prefixes = 0;
  int others = 0;
};

void CompareWithTryingAll(const std::vector<bool>& passes, int64_t chosen,
                          Compared& compared) {
  const auto at = static_cast<size_t>(chosen) - 1;
  EXPECT_TRUE(passes[at]);
  EXPECT_TRUE(at + 1 == passes.size() || !passes[at + 1]);
  if (const auto highest = HighestOfPrefix(passes)) {
    EXPECT_EQ(chosen, *highest);
    ++compared.prefixes;
  } else {
    ++compared.others;
  }
}

// Training graphs with less memory than they need without swaps.
template <typename Visit>
void ForEachTightCase(Visit visit) {
  for (uint32_t seed = 0; seed < NumCases(50); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Graph graph = RandomTrainingGraph({.seed = seed});
    TflmsRequest request = {.options = {.compat = true}};
    request.limits = {.device_bytes = 1024_GiB, .memory_ratio = 1};
    const int64_t peak =
        SearchIn(graph, request).tried[0].play.peak_device_bytes;
    for (int part = 5; part <= 9; ++part) {
      request.limits.device_bytes = TrainableBytes(graph) + peak / 10 * part;
      visit(graph, request);
    }
  }
}

TEST(TflmsSearchRulingsTest, TheThresholdIsTheOneThatTryingAllFinds) {
  Compared compared;
  ForEachTightCase([&](const Graph& graph, TflmsRequest request) {
    request.options.v2.swapin_ahead = 1;
    request.options.v2.swapin_groupby = 0;
    const TflmsResult result = SearchIn(graph, request);
    if (!result.status.ok()) return;
    const std::vector<bool> passes =
        TryAll(request, graph, {.sync_mode = result.options.v2.sync_mode},
               &TflmsSet::swapout_threshold);
    CompareWithTryingAll(passes, result.options.v2.swapout_threshold, compared);
  });
  EXPECT_GT(compared.prefixes, LeastCases(30));
}

// Numbers that pass and fail alternate, since a swap-in without a trigger far
// ahead takes less memory than one that starts early.
TEST(TflmsSearchRulingsTest, AheadPassesAndTheNextHigherDoesNot) {
  Compared compared;
  ForEachTightCase([&](const Graph& graph, TflmsRequest request) {
    request.options.v2.swapout_threshold = 3;
    request.options.v2.swapin_groupby = 0;
    const TflmsResult result = SearchIn(graph, request);
    if (result.options.v2.sync_mode != 0) return;
    const std::vector<bool> passes = TryAll(
        request, graph, {.swapout_threshold = 3}, &TflmsSet::swapin_ahead);
    CompareWithTryingAll(passes, result.options.v2.swapin_ahead, compared);
  });
  EXPECT_GT(compared.others, LeastCases(30));
}

TEST(TflmsSearchRulingsTest, GroupByIsAllLevelsOrTheFirstOfItsHalves) {
  int halved = 0;
  ForEachTightCase([&](const Graph& graph, TflmsRequest request) {
    request.options.v2.swapout_threshold = 1;
    request.options.v2.swapin_ahead = 1;
    const TflmsResult result = SearchIn(graph, request);
    if (result.options.v2.sync_mode != 0) return;
    const std::vector<bool> passes =
        TryAll(request, graph, {}, &TflmsSet::swapin_groupby);
    auto expected = static_cast<int64_t>(passes.size());
    if (!passes.back()) {
      ++halved;
      expected /= 2;
      while (expected > 0 && !passes[static_cast<size_t>(expected) - 1]) {
        expected = (expected - 1) / 2;
      }
    }
    EXPECT_EQ(result.options.v2.swapin_groupby, expected);
    EXPECT_TRUE(result.passed);
  });
  EXPECT_GT(halved, LeastCases(5));
}

// Properties of every search: it is deterministic, its options can be applied,
// and a separate simulation confirms its results.
TEST(TflmsSearchRulingsTest, ResultsAreTrueAndCanBeApplied) {
  int passed = 0;
  int failed = 0;
  for (uint32_t seed = 0; seed < NumCases(120) && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Graph graph = RandomTrainingGraph({.seed = seed, .forward_nodes = 12});
    TflmsRequest request = {.options = {.compat = seed % 2 == 0}};
    if (seed % 3 == 0) request.options.v2.swapout_threshold = 1 + seed % 5;
    if (seed % 5 == 0) request.options.v2.swapin_ahead = 2;
    if (seed % 7 == 0) request.options.v2.swapin_groupby = 3;
    request.options.v2.sync_mode = seed % 11 % 4;
    request.limits = {.device_bytes =
                          TrainableBytes(graph) + 30_KiB * (1 + seed % 13)};
    const TflmsResult result = SearchIn(graph, request);
    EXPECT_EQ(Tried(SearchIn(graph, request)), Tried(result));
    if (!result.status.ok()) continue;
    const auto simulator =
        TflmsSimulator::Create(request.options, request.limits, graph);
    ASSERT_THAT(simulator, IsOk());
    const LmsV2Options& chosen = result.options.v2;
    const TflmsPlay play =
        (*simulator)
            ->Play({chosen.swapout_threshold, chosen.swapin_ahead,
                    chosen.swapin_groupby, chosen.sync_mode});
    EXPECT_EQ(play.passed, result.passed);
    EXPECT_THAT(ApplyLms(result.options, graph), IsOk());
    ++(result.passed ? passed : failed);
  }
  EXPECT_GT(passed, LeastCases(20));
  EXPECT_GT(failed, LeastCases(5));
}

}  // namespace
}  // namespace spillway
