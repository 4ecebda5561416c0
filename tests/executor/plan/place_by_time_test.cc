#include "executor/plan/place_by_time.h"

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "executor/plan/compile.h"
#include "executor/plan/verify_plan.h"
#include "graph/well_known_ops.h"
#include "tests/executor/plan/naive_plan.h"
#include "tests/executor/plan/random_plan_case.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/support/toy_ops.h"

namespace spillway {
namespace {

using ::testing::IsEmpty;
using testing::IsOk;
using testing::LeastCases;
using testing::NumCases;
using testing::PlanCase;
using testing::PlanText;
using testing::RandomPlanCase;
using testing::ToyOps;

// Kernels one after the other; each copy from a random time on, for a random
// time.
IdMap<NodeId, Interval> SomeTimes(const PlanCase& plan_case,
                                  std::mt19937_64& random) {
  IdMap<NodeId, Interval> times(plan_case.graph.num_nodes());
  int64_t now = 0;
  for (const NodeId id : plan_case.schedule.order) {
    const std::string& op = plan_case.graph.node(id).op;
    const auto ns = static_cast<int64_t>(random() % 1000);
    if (op == kSwapOut || op == kSwapIn) {
      times[id] = {now + ns, now + ns + static_cast<int64_t>(random() % 4000)};
    } else {
      times[id] = {now, now + ns};
      now += ns;
    }
  }
  return times;
}

// Includes feeds that are fed again.
bool IsSwapIn(const PlanCase& plan_case, const Step& step) {
  return plan_case.graph.node(step.node).op == kSwapIn;
}

// For a swap-in: the number of earlier steps that are not swap-ins.
int64_t PlaceAmongOthers(const PlanCase& plan_case, const ExecutionPlan& plan,
                         StepId swap_in) {
  int64_t place = 0;
  for (size_t i = 0; i < swap_in.index(); ++i) {
    place += IsSwapIn(plan_case, plan.steps[StepId(i)]) ? 0 : 1;
  }
  return place;
}

// The same in the schedule, without the nodes that have no step.
int64_t WantedPlace(const PlanCase& plan_case,
                    const IdMap<NodeId, int64_t>& step_of, NodeId swap_in) {
  int64_t place = 0;
  for (const NodeId id : plan_case.schedule.order) {
    if (id == swap_in) return place;
    const bool is_swap_in = plan_case.graph.node(id).op == kSwapIn;
    place += is_swap_in || step_of[id] < 0 ? 0 : 1;
  }
  return -1;
}

// Swap-ins are between their place in the schedule and their first reader; all
// other steps are as in the schedule. True if one is later than its place.
bool CheckOrder(const PlanCase& plan_case, const ExecutionPlan& plan) {
  bool has_moved = false;
  IdMap<NodeId, int64_t> step_of(plan_case.graph.num_nodes(), -1);
  std::vector<NodeId> others;
  for (const StepId id : plan.steps.ids()) {
    const Step& step = plan.steps[id];
    step_of[step.node] = id.value();
    if (!IsSwapIn(plan_case, step)) others.push_back(step.node);
  }
  std::vector<NodeId> wanted = plan_case.schedule.order;
  std::erase_if(wanted, [&](NodeId id) {
    return step_of[id] < 0 || plan_case.graph.node(id).op == kSwapIn;
  });
  EXPECT_EQ(others, wanted);
  for (const StepId id : plan.steps.ids()) {
    const Step& step = plan.steps[id];
    if (!IsSwapIn(plan_case, step)) continue;
    const int64_t place = PlaceAmongOthers(plan_case, plan, id);
    const int64_t wanted_place = WantedPlace(plan_case, step_of, step.node);
    EXPECT_GE(place, wanted_place);
    has_moved |= place > wanted_place;
    const ValueId value = plan_case.graph.output(step.node);
    for (const Use& use : plan_case.graph.uses(value)) {
      if (step_of[use.node] < 0) continue;
      EXPECT_LT(id.value(), step_of[use.node]);
    }
  }
  return has_moved;
}

TEST(PlaceByTimeTest, RandomPlansAreVerifiedAndKeepTheirBudget) {
  const OpRegistry ops = ToyOps();
  int placed = 0;
  int several = 0;
  int moved = 0;
  for (uint64_t seed = 0; seed < NumCases(150) && !HasFailure(); ++seed) {
    PlanCase plan_case = RandomPlanCase({.seed = seed, .nodes = 28});
    std::mt19937_64 random(seed);
    const int64_t smallest = SmallestDeviceBudget(
        plan_case.graph, ops, plan_case.schedule, plan_case.options);
    plan_case.options.placement.expected_ns = SomeTimes(plan_case, random);
    for (const int64_t budget :
         {smallest - 200, smallest, smallest * 5 / 4, 2 * smallest}) {
      SCOPED_TRACE(::testing::Message()
                   << "seed " << seed << ", budget " << budget);
      plan_case.options.device_budget_bytes = budget;
      ASSERT_OK_AND_ASSIGN(
          const std::vector<ExecutionPlan> plans,
          CompileByTime(plan_case.graph, ops, plan_case.schedule,
                        plan_case.options, 4));
      EXPECT_LE(plans.size(), 4U);
      std::set<std::string> distinct;
      for (size_t i = 0; i < plans.size(); ++i) {
        EXPECT_LE(plans[i].device_bytes, budget);
        EXPECT_LE(plans[i].device_lower_bound_bytes,
                  (plans[i].device_bytes + 255) / 256 * 256);
        EXPECT_THAT(VerifyPlan(plans[i], plan_case.graph, ops), IsOk());
        EXPECT_EQ(testing::NaiveFault(plans[i], plan_case.graph, ops), "");
        moved += CheckOrder(plan_case, plans[i]) ? 1 : 0;
        EXPECT_TRUE(distinct.insert(PlanText(plans[i])).second);
        plan_case.options.placement.index = i;
        ASSERT_OK_AND_ASSIGN(const ExecutionPlan again,
                             testing::Compile(plan_case));
        EXPECT_EQ(PlanText(again), PlanText(plans[i]));
      }
      plan_case.options.placement.index = 0;
      placed += plans.empty() ? 0 : 1;
      several += plans.size() > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(placed, LeastCases(200));
  EXPECT_GT(several, LeastCases(10));
  EXPECT_GT(moved, LeastCases(50));
}

TEST(PlaceByTimeTest, APlacementThatIsNotThereIsCompiledAsWithoutTimes) {
  PlanCase plan_case = RandomPlanCase({.seed = 3, .nodes = 28});
  plan_case.options.device_budget_bytes = int64_t{1} << 20;
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plain, testing::Compile(plan_case));
  std::mt19937_64 random(1);
  plan_case.options.placement.expected_ns = SomeTimes(plan_case, random);
  plan_case.options.placement.index = 1000;
  ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan, testing::Compile(plan_case));
  EXPECT_EQ(PlanText(plan), PlanText(plain));
}

TEST(PlaceByTimeTest, WithoutABudgetThereAreNone) {
  PlanCase plan_case = RandomPlanCase({.seed = 3, .nodes = 28});
  std::mt19937_64 random(1);
  plan_case.options.placement.expected_ns = SomeTimes(plan_case, random);
  ASSERT_OK_AND_ASSIGN(const std::vector<ExecutionPlan> plans,
                       CompileByTime(plan_case.graph, ToyOps(),
                                     plan_case.schedule, plan_case.options, 4));
  EXPECT_THAT(plans, IsEmpty());
}

}  // namespace
}  // namespace spillway
