#include "executor/plan/memory_profile.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "executor/plan/compile.h"
#include "executor/plan/lifetimes.h"
#include "tests/executor/plan/naive_plan.h"
#include "tests/executor/plan/plan_cases.h"
#include "tests/executor/plan/random_plan_case.h"
#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using testing::ChainGraph;
using testing::Compile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::PlanCase;
using testing::RandomPlanCase;
using testing::ToyOps;

constexpr uint64_t kProfileCases = 300;

// With the least memory, or with 2 KiB to spare.
absl::StatusOr<ExecutionPlan> RandomPlan(PlanCase& plan_case, uint64_t seed) {
  absl::StatusOr<ExecutionPlan> plan = Compile(plan_case);
  if (!plan.ok() || seed % 2 == 0) return plan;
  plan_case.options.device_budget_bytes = plan->device_bytes + 2_KiB;
  return Compile(plan_case);
}

IdMap<BufferId, Interval> Lives(const ExecutionPlan& plan) {
  IdMap<BufferId, Interval> lives;
  for (const Buffer& buffer : plan.buffers) lives.push_back(buffer.live);
  return lives;
}

TEST(MemoryProfileTest, TheCurveIsTheNaiveSum) {
  for (uint64_t seed = 0; seed < kProfileCases; ++seed) {
    SCOPED_TRACE(seed);
    PlanCase plan_case = RandomPlanCase({.seed = seed, .nodes = 28});
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, RandomPlan(plan_case, seed));
    for (const Space space : {Space::kDevice, Space::kHost}) {
      const MemoryProfile profile = ProfileMemory(plan, plan_case.graph, space);
      ASSERT_EQ(profile.live_bytes.size(), plan.steps.size());
      int64_t peak = 0;
      StepId peak_step;
      for (const StepId id : plan.steps.ids()) {
        const int64_t naive =
            testing::NaiveLiveBytes(plan, space, Lives(plan), id.value());
        EXPECT_EQ(profile.live_bytes[id], naive) << "step " << id.value();
        if (!peak_step.is_valid() || naive > peak) peak_step = id;
        peak = std::max(peak, naive);
      }
      EXPECT_EQ(profile.peak, peak_step);
      EXPECT_EQ(profile.peak_bytes, peak);
    }
  }
}

TEST(MemoryProfileTest, ThePeakIsTheBoundWhereEveryEndIsAtItsSoonest) {
  for (uint64_t seed = 0; seed < kProfileCases; ++seed) {
    SCOPED_TRACE(seed);
    const PlanCase plan_case = RandomPlanCase({.seed = seed, .nodes = 28});
    ASSERT_OK_AND_ASSIGN(ExecutionPlan plan, Compile(plan_case));
    if (plan.steps.empty()) continue;
    const Lifetimes soonest = FindLifetimes(plan);
    for (const BufferId id : plan.buffers.ids()) {
      plan.buffers[id].live = soonest.of[id];
    }
    EXPECT_EQ(ProfileMemory(plan, plan_case.graph, Space::kDevice).peak_bytes,
              plan.device_lower_bound_bytes);
    EXPECT_EQ(ProfileMemory(plan, plan_case.graph, Space::kHost).peak_bytes,
              plan.host_lower_bound_bytes);
  }
}

TEST(MemoryProfileTest, WhatLivesAtThePeakAddsUpToIt) {
  for (uint64_t seed = 0; seed < kProfileCases; ++seed) {
    SCOPED_TRACE(seed);
    PlanCase plan_case = RandomPlanCase({.seed = seed, .nodes = 28});
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, RandomPlan(plan_case, seed));
    for (const Space space : {Space::kDevice, Space::kHost}) {
      const MemoryProfile profile = ProfileMemory(plan, plan_case.graph, space);
      int64_t bytes = 0;
      int64_t above = int64_t{1} << 40;
      for (const LiveBuffer& live : profile.at_peak) {
        const Buffer& buffer = plan.buffers[live.buffer];
        EXPECT_EQ(buffer.space, space);
        EXPECT_LE(buffer.bytes, above) << "not the largest first";
        above = buffer.bytes;
        bytes += AlignUp(buffer.bytes, kBufferAlignment);
        EXPECT_NE(live.reason, "");
      }
      EXPECT_EQ(bytes, profile.peak_bytes);
    }
  }
}

TEST(MemoryProfileTest, APlanWithoutStepsHasNoPeak) {
  const MemoryProfile profile =
      ProfileMemory(ExecutionPlan(), Graph(), Space::kDevice);
  EXPECT_FALSE(profile.peak.is_valid());
  EXPECT_EQ(profile.peak_bytes, 0);
  EXPECT_TRUE(profile.at_peak.empty());
  EXPECT_TRUE(profile.live_bytes.empty());
}

// Name and reason of each buffer that is live at the peak.
std::vector<std::pair<std::string, std::string>> Reasons(
    const ExecutionPlan& plan, const Graph& graph, Space space) {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const LiveBuffer& live : ProfileMemory(plan, graph, space).at_peak) {
    reasons.emplace_back(plan.buffers[live.buffer].name, live.reason);
  }
  return reasons;
}

ValueId Add(Graph& graph, std::string name, std::string_view op, int64_t bytes,
            std::vector<ValueId> inputs = {}) {
  return graph.output(
      graph.AddNode({.name = std::move(name),
                     .op = std::string(op),
                     .inputs = std::move(inputs),
                     .outputs = {{.dtype = DType::kUInt8, .shape = {bytes}}}}));
}

// a, b, peak and last run in this order; `peak` reads b and the residents.
//
//   w, c   [============================)  resident
//   kept   [============================)  fetched
//   a      [=====================)         read by last
//   b          [=====)
//   scratch      [===)
//             a   b peak  last
TEST(MemoryProfileTest, SaysWhyEachBufferIsStillThere) {
  OpRegistry ops = ToyOps();
  OpDef constant = *ops.Find(kVariable);
  constant.name = kConst;
  ops.Add(std::move(constant));
  Graph graph;
  const ValueId w = Add(graph, "w", kVariable, 7000);
  const ValueId c = Add(graph, "c", kConst, 6000);
  const ValueId kept = Add(graph, "kept", "F", 5000);
  const ValueId a = Add(graph, "a", "F", 4000, {kept});
  const ValueId b = Add(graph, "b", "F", 3000);
  const ValueId peak = Add(graph, "peak", "F", 2000, {b, w, c});
  Add(graph, "last", "F", 10, {a, peak});
  CompileOptions options{.fetches = {kept}};
  options.workspace_bytes = IdMap<NodeId, int64_t>(graph.num_nodes(), 0);
  options.workspace_bytes[graph.value(peak).producer] = 1000;
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, MakeSchedule(graph, ops, {}));
  AddResidents(graph, ops, schedule, "", options.residents);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan,
                       CompilePlan(graph, ops, schedule, options));
  EXPECT_EQ(ProfileMemory(plan, graph, Space::kDevice).peak, StepId(3));
  EXPECT_THAT(
      Reasons(plan, graph, Space::kDevice),
      ElementsAre(Pair("w:0", "variable: outlives a step"),
                  Pair("c:0", "constant: outlives a step"),
                  Pair("kept:0", "fetched: kept to the end of the step"),
                  Pair("a:0", "used by last (step 4)"),
                  Pair("b:0", "used by the step at the peak"),
                  Pair("peak:0", "used by the step at the peak"),
                  Pair("peak workspace", "scratch of the step at the peak")));
}

// With memory to spare, the bytes of a copy are kept until it is certainly
// done.
TEST(MemoryProfileTest, ACopyUnderWayKeepsItsBytes) {
  const Graph graph = ChainGraph(6, 1_KiB, true);
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan roomy,
                       Compile(graph, {.device_budget_bytes = 1_MiB}));
  int copies = 0;
  for (const auto& [buffer, reason] : Reasons(roomy, graph, Space::kDevice)) {
    if (!reason.starts_with("its copy")) continue;
    EXPECT_EQ(reason, fmt::format("its copy is waited for at step {}",
                                  roomy.steps.size()));
    ++copies;
  }
  EXPECT_GT(copies, 0);
  for (const auto& [buffer, reason] : Reasons(roomy, graph, Space::kHost)) {
    EXPECT_THAT(reason, HasSubstr("used by"));
  }
}

}  // namespace
}  // namespace spillway
