#include "executor/plan/place_waits.h"

#include <algorithm>
#include <random>
#include <vector>

#include "base/units.h"
#include "tests/executor/plan/naive_plan.h"
#include "tests/executor/plan/plan_cases.h"
#include "tests/executor/plan/random_plan_case.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainGraph;
using testing::Compile;
using testing::EdgePairs;
using testing::PlanCase;
using testing::RandomPlanCase;
using testing::ReusePairs;
using testing::ShareBytes;
using testing::StepOrder;
using testing::StepPair;
using testing::UsesOf;

constexpr uint64_t kWaitCases = 300;

// Some with the least memory, some with up to three times as much.
absl::StatusOr<ExecutionPlan> PlanWithRoom(PlanCase& plan_case, uint64_t seed) {
  absl::StatusOr<ExecutionPlan> least = Compile(plan_case);
  if (!least.ok() || seed % 3 == 0) return least;
  std::mt19937_64 random(seed);
  const auto room = 2 * static_cast<uint64_t>(least->device_bytes) + 1;
  plan_case.options.device_budget_bytes =
      least->device_bytes + static_cast<int64_t>(random() % room);
  return Compile(plan_case);
}

std::vector<StepPair> Required(const ExecutionPlan& plan, const Graph& graph) {
  std::vector<StepPair> pairs = EdgePairs(plan, graph);
  const std::vector<StepPair> reuse = ReusePairs(plan);
  pairs.insert(pairs.end(), reuse.begin(), reuse.end());
  return pairs;
}

bool Keeps(const ExecutionPlan& plan, const std::vector<StepPair>& required) {
  const StepOrder order(plan);
  return std::ranges::all_of(required, [&](const StepPair& pair) {
    return order.Before(pair.first, pair.second);
  });
}

TEST(PlaceWaitsTest, WaitsAndLanesImplyAllThatIsRequired) {
  size_t required_pairs = 0;
  for (uint64_t seed = 0; seed < kWaitCases; ++seed) {
    SCOPED_TRACE(seed);
    PlanCase plan_case = RandomPlanCase(
        {.seed = seed, .nodes = 24, .collectives = seed % 2 == 1});
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan,
                         PlanWithRoom(plan_case, seed));
    const std::vector<StepPair> required = Required(plan, plan_case.graph);
    const StepOrder order(plan);
    for (const auto& [before, after] : required) {
      ASSERT_TRUE(order.Before(before, after))
          << before.value() << " before " << after.value() << "\n"
          << testing::PlanText(plan);
    }
    required_pairs += required.size();
  }
  EXPECT_GT(required_pairs, 5000U);
}

TEST(PlaceWaitsTest, NoWaitCanBeLeftOut) {
  int waits = 0;
  for (uint64_t seed = 0; seed < kWaitCases; ++seed) {
    SCOPED_TRACE(seed);
    PlanCase plan_case = RandomPlanCase(
        {.seed = seed, .nodes = 18, .collectives = seed % 2 == 1});
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan,
                         PlanWithRoom(plan_case, seed));
    const std::vector<StepPair> required = Required(plan, plan_case.graph);
    for (const StepId step : plan.steps.ids()) {
      for (size_t w = 0; w < plan.steps[step].waits.size(); ++w) {
        ExecutionPlan damaged = plan;
        std::vector<StepId>& left = damaged.steps[step].waits;
        left.erase(left.begin() + static_cast<int64_t>(w));
        EXPECT_FALSE(Keeps(damaged, required))
            << "step " << step.value() << " wait " << w << "\n"
            << testing::PlanText(plan);
        ++waits;
      }
    }
  }
  EXPECT_GT(waits, 500);
}

TEST(PlaceWaitsTest, WaitsAreForOtherLanesBackwardsAndAscending) {
  for (uint64_t seed = 0; seed < kWaitCases; ++seed) {
    SCOPED_TRACE(seed);
    PlanCase plan_case = RandomPlanCase(
        {.seed = seed, .nodes = 24, .collectives = seed % 2 == 1});
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan,
                         PlanWithRoom(plan_case, seed));
    for (const StepId id : plan.steps.ids()) {
      const Step& step = plan.steps[id];
      EXPECT_EQ(
          std::ranges::adjacent_find(step.waits, std::ranges::greater_equal()),
          step.waits.end());
      for (const StepId wait : step.waits) {
        EXPECT_LT(wait, id);
        EXPECT_NE(plan.steps[wait].lane, step.lane);
      }
    }
  }
}

// Pairs of a compute step and a copy-out that it waits for.
std::vector<StepPair> WaitsForCopyOuts(const ExecutionPlan& plan) {
  std::vector<StepPair> waits;
  for (const StepId id : plan.steps.ids()) {
    const Step& step = plan.steps[id];
    for (const StepId wait : step.waits) {
      if (step.lane == Lane::kCompute &&
          plan.steps[wait].lane == Lane::kCopyOut) {
        waits.emplace_back(id, wait);
      }
    }
  }
  return waits;
}

// Whether the step begins a buffer that has bytes of one that the copy read.
bool TakesBytesOf(const ExecutionPlan& plan, StepId step, StepId copy) {
  const Buffer& copied = plan.buffers[plan.steps[copy].inputs[0]];
  for (const BufferId buffer : plan.buffers.ids()) {
    const std::vector<StepId> uses = UsesOf(plan, buffer);
    if (!uses.empty() && uses.front() == step &&
        ShareBytes(plan.buffers[buffer], copied)) {
      return true;
    }
  }
  return false;
}

TEST(PlaceWaitsTest, ComputeWaitsForACopyOutOnlyWhereItTakesItsBytes) {
  const Graph graph = ChainGraph(12, 1_KiB, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan least, Compile(graph));
  int waits = 0;
  for (int64_t budget = least.device_bytes; budget <= 13_KiB; budget += 1_KiB) {
    SCOPED_TRACE(budget);
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan,
                         Compile(graph, {.device_budget_bytes = budget}));
    for (const auto& [step, copy] : WaitsForCopyOuts(plan)) {
      EXPECT_TRUE(TakesBytesOf(plan, step, copy)) << step.value();
      ++waits;
    }
  }
  EXPECT_GT(waits, 5);
}

TEST(PlaceWaitsTest, ARoomyPlanNeverStopsComputeForACopyOut) {
  const Graph graph = ChainGraph(12, 1_KiB, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan roomy,
                       Compile(graph, {.device_budget_bytes = 1_MiB}));
  EXPECT_TRUE(WaitsForCopyOuts(roomy).empty());
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan least, Compile(graph));
  EXPECT_FALSE(WaitsForCopyOuts(least).empty());
}

// In a roomy random plan only a control edge remains as a reason.
TEST(PlaceWaitsTest, ARoomyRandomPlanStopsComputeForControlEdgesOnly) {
  int copies = 0;
  for (uint64_t seed = 0; seed < kWaitCases; ++seed) {
    SCOPED_TRACE(seed);
    PlanCase plan_case = RandomPlanCase(
        {.seed = seed, .nodes = 24, .collectives = seed % 2 == 1});
    plan_case.options.device_budget_bytes = 1_MiB;
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, Compile(plan_case));
    const std::vector<StepPair> edges = EdgePairs(plan, plan_case.graph);
    for (const auto& [step, copy] : WaitsForCopyOuts(plan)) {
      EXPECT_EQ(std::ranges::count(edges, StepPair(copy, step)), 1);
    }
    for (const Step& step : plan.steps) {
      copies += step.kind == StepKind::kSwapOut ? 1 : 0;
    }
  }
  EXPECT_GT(copies, 200);
}

}  // namespace
}  // namespace spillway
