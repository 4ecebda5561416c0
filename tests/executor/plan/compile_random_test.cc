// The contract of budgets, on random graphs.
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "executor/plan/compile.h"
#include "executor/plan/floor.h"
#include "executor/plan/verify_plan.h"
#include "fmt/format.h"
#include "tests/executor/plan/naive_plan.h"
#include "tests/executor/plan/random_plan_case.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/support/toy_ops.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using testing::Compile;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::LeastCases;
using testing::NumCases;
using testing::PlanCase;
using testing::PlanText;
using testing::RandomPlanCase;
using testing::StatusIs;
using testing::ToyOps;

constexpr uint64_t kCompiledCases = NumCases(100);
using testing::kExhausted;

// A case and its needs. At least one step swaps.
struct Sized {
  PlanCase plan_case = {};
  int64_t device_bytes = 0;  // with swap-ins as late as necessary
  // Without a budget: with swap-ins as early as possible.
  int64_t early_device_bytes = 0;
  int64_t early_host_bytes = 0;
};

std::vector<Sized> SwappedCases() {
  std::vector<Sized> cases;
  for (uint64_t seed = 0; cases.size() < kCompiledCases; ++seed) {
    Sized sized{.plan_case = RandomPlanCase({.seed = seed, .nodes = 26})};
    const absl::StatusOr<ExecutionPlan> plan = Compile(sized.plan_case);
    EXPECT_THAT(plan, IsOk()) << "seed " << seed;
    if (!plan.ok()) break;
    sized.device_bytes =
        SmallestDeviceBudget(sized.plan_case.graph, ToyOps(),
                             sized.plan_case.schedule, sized.plan_case.options);
    EXPECT_LE(sized.device_bytes, plan->device_bytes);
    sized.early_device_bytes = plan->device_bytes;
    sized.early_host_bytes = plan->host_bytes;
    if (plan->host_bytes > 0) cases.push_back(std::move(sized));
  }
  return cases;
}

absl::StatusOr<ExecutionPlan> CompileWithin(const Sized& sized,
                                            std::optional<int64_t> device,
                                            std::optional<int64_t> host) {
  PlanCase plan_case = sized.plan_case;
  plan_case.options.device_budget_bytes = device;
  plan_case.options.host_budget_bytes = host;
  return Compile(plan_case);
}

// One byte less than `smallest`, then increasing in steps of up to a fifth of
// it.
std::vector<int64_t> BudgetsAround(int64_t smallest, std::mt19937_64& random) {
  std::vector<int64_t> budgets = {
      static_cast<int64_t>(random() % static_cast<uint64_t>(smallest)),
      smallest - 1};
  for (int64_t budget = smallest; budget < 3 * smallest;) {
    budgets.push_back(budget);
    budget += 1 + static_cast<int64_t>(
                      random() % (static_cast<uint64_t>(smallest) / 5 + 1));
  }
  return budgets;
}

TEST(CompileRandomTest, DeviceBudgetsFromTheSmallestOnAreKeptOthersRefused) {
  std::mt19937_64 random(1);
  for (const Sized& sized : SwappedCases()) {
    const Graph& graph = sized.plan_case.graph;
    for (const int64_t budget : BudgetsAround(sized.device_bytes, random)) {
      SCOPED_TRACE(fmt::format("{} of {}", budget, sized.device_bytes));
      const auto plan = CompileWithin(sized, budget, {});
      if (budget < sized.device_bytes) {
        EXPECT_THAT(plan, StatusIs(kExhausted, HasSubstr("device memory")));
        continue;
      }
      ASSERT_THAT(plan, IsOk());
      EXPECT_LE(plan->device_bytes, budget);
      EXPECT_GE(plan->host_bytes, sized.early_host_bytes);
      EXPECT_EQ(plan->delayed_swap_ins > 0, budget < sized.early_device_bytes);
      EXPECT_THAT(VerifyPlan(*plan, graph, ToyOps()), IsOk());
    }
  }
}

TEST(CompileRandomTest, HostBudgetsFromTheSmallestOnAreKeptOthersRefused) {
  std::mt19937_64 random(2);
  for (const Sized& sized : SwappedCases()) {
    const Graph& graph = sized.plan_case.graph;
    for (const int64_t budget : BudgetsAround(sized.early_host_bytes, random)) {
      SCOPED_TRACE(fmt::format("{} of {}", budget, sized.early_host_bytes));
      const auto plan = CompileWithin(sized, {}, budget);
      if (budget < sized.early_host_bytes) {
        EXPECT_THAT(
            plan,
            StatusIs(kExhausted,
                     HasSubstr(fmt::format(
                         "host swap pool exhausted: need {} ({} bytes), limit "
                         "{}: {} missing",
                         FormatBytes(sized.early_host_bytes),
                         sized.early_host_bytes, FormatBytes(budget),
                         FormatBytes(sized.early_host_bytes - budget)))));
        continue;
      }
      ASSERT_THAT(plan, IsOk());
      EXPECT_LE(plan->host_bytes, budget);
      EXPECT_EQ(plan->device_bytes, sized.early_device_bytes);
      EXPECT_THAT(VerifyPlan(*plan, graph, ToyOps()), IsOk());
    }
  }
}

TEST(CompileRandomTest, BothBudgetsAtOnceAreBothKept) {
  std::mt19937_64 random(3);
  for (const Sized& sized : SwappedCases()) {
    for (int i = 0; i < 6; ++i) {
      const int64_t device =
          sized.device_bytes - 100 + static_cast<int64_t>(random() % 1000);
      // The host bytes needed with this device budget.
      const auto unlimited = CompileWithin(sized, device, {});
      const int64_t needed =
          unlimited.ok() ? unlimited->host_bytes : sized.early_host_bytes;
      const int64_t host = needed - 100 + static_cast<int64_t>(random() % 1000);
      SCOPED_TRACE(fmt::format("{} of {}, {} of {}", device, sized.device_bytes,
                               host, needed));
      const auto plan = CompileWithin(sized, device, host);
      if (device < sized.device_bytes) {
        EXPECT_THAT(plan, StatusIs(kExhausted, HasSubstr("device memory")));
      } else if (host < needed) {
        EXPECT_THAT(plan, StatusIs(kExhausted, HasSubstr("host swap pool")));
      } else {
        ASSERT_THAT(plan, IsOk());
        EXPECT_LE(plan->device_bytes, device);
        EXPECT_LE(plan->host_bytes, host);
        EXPECT_THAT(VerifyPlan(*plan, sized.plan_case.graph, ToyOps()), IsOk());
      }
    }
  }
}

// The most bytes of outputs from `i` on that could overwrite copies of inputs,
// which swaps bring for this step alone: over all choices of inputs.
int64_t MostInPlace(const ExecutionPlan& plan, const Step& step,
                    const OpDef& def, size_t i, const std::set<int>& taken) {
  if (i == step.outputs.size()) return 0;
  const Buffer& output = plan.buffers[step.outputs[i]];
  int64_t most = MostInPlace(plan, step, def, i + 1, taken);
  for (const BufferPair& pair : def.in_place) {
    if (static_cast<size_t>(pair.output) != i || taken.contains(pair.input) ||
        (!taken.empty() && !def.in_place_together)) {
      continue;
    }
    const Buffer& input =
        plan.buffers[step.inputs.at(static_cast<size_t>(pair.input))];
    if (input.space != Space::kDevice || IsResident(input) ||
        input.bytes != output.bytes) {
      continue;
    }
    std::set<int> more = taken;
    more.insert(pair.input);
    most = std::max(most, (output.bytes + 255) / 256 * 256 +
                              MostInPlace(plan, step, def, i + 1, more));
  }
  return most;
}

// The first step with the most bytes, and these bytes; residents always count.
std::pair<std::string, int64_t> NaiveFloor(const ExecutionPlan& plan,
                                           const Graph& graph,
                                           const OpRegistry& ops) {
  std::pair<std::string, int64_t> floor = {"(no node)", plan.resident_bytes};
  for (const Step& step : plan.steps) {
    std::set<BufferId> counted;
    int64_t bytes = plan.resident_bytes;
    for (const BufferId id : testing::BuffersOf(step)) {
      const Buffer& buffer = plan.buffers[id];
      const bool counts = buffer.space == Space::kDevice && !IsResident(buffer);
      if (counts && counted.insert(id).second) {
        bytes += (buffer.bytes + 255) / 256 * 256;
      }
    }
    const OpDef* def = ops.Find(graph.node(step.node).op);
    if (def != nullptr && !def->in_place.empty()) {
      bytes -= MostInPlace(plan, step, *def, 0, {});
      for (const BufferId output : step.outputs) {  // those in place already
        if (std::ranges::count(step.inputs, output) == 0) continue;
        bytes += (plan.buffers[output].bytes + 255) / 256 * 256;
      }
    }
    if (bytes > floor.second) floor = {graph.node(step.node).name, bytes};
  }
  return floor;
}

TEST(CompileRandomTest, TheErrorNamesTheFloorAndWhatIsMissing) {
  int below_floor = 0;
  for (const Sized& sized : SwappedCases()) {
    const Graph& graph = sized.plan_case.graph;
    ASSERT_OK_AND_ASSIGN(const ExecutionPlan plan,
                         CompileWithin(sized, {}, {}));
    const auto [node, floor] = NaiveFloor(plan, graph, ToyOps());
    const MemoryFloor found = FindFloor(
        graph, ToyOps(), sized.plan_case.schedule, sized.plan_case.options);
    EXPECT_EQ(found.bytes, floor);
    for (const int64_t budget : {sized.device_bytes - 1, floor - 1}) {
      SCOPED_TRACE(budget);
      if (budget < 0 || budget >= sized.device_bytes) continue;
      below_floor += budget < floor ? 1 : 0;
      EXPECT_THAT(
          CompileWithin(sized, budget, {}),
          StatusIs(
              kExhausted,
              AllOf(HasSubstr(fmt::format(
                        "needs {} ({} bytes), the budget is {}: {} missing",
                        FormatBytes(sized.device_bytes), sized.device_bytes,
                        FormatBytes(budget),
                        FormatBytes(sized.device_bytes - budget))),
                    HasSubstr(fmt::format(
                        "the smallest budget with these options is {} bytes",
                        sized.device_bytes)),
                    HasSubstr(fmt::format(
                        "is {} at {}; {}", FormatBytes(floor), node,
                        budget < floor ? "neither swapping nor"
                                       : "swap or recompute more")))));
    }
  }
  EXPECT_GT(below_floor, LeastCases(25));
}

TEST(CompileRandomTest, ThePlanIsTheSameInEveryFieldOnEveryRun) {
  for (uint64_t seed = 0; seed < kCompiledCases; ++seed) {
    SCOPED_TRACE(seed);
    for (const std::optional<int64_t> budget :
         {std::optional<int64_t>(), std::optional<int64_t>(1_MiB)}) {
      PlanCase first = RandomPlanCase({.seed = seed, .nodes = 40});
      PlanCase second = RandomPlanCase({.seed = seed, .nodes = 40});
      first.options.device_budget_bytes = budget;
      second.options.device_budget_bytes = budget;
      ASSERT_OK_AND_ASSIGN(const ExecutionPlan a, Compile(first));
      ASSERT_OK_AND_ASSIGN(const ExecutionPlan again, Compile(first));
      ASSERT_OK_AND_ASSIGN(const ExecutionPlan b, Compile(second));
      EXPECT_EQ(PlanText(a), PlanText(again));
      EXPECT_EQ(PlanText(a), PlanText(b));
    }
  }
}

}  // namespace
}  // namespace spillway
