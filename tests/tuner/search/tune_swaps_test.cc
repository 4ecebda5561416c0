#include "tuner/search/tune_swaps.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "executor/plan/verify_plan.h"
#include "tests/executor/plan/naive_plan.h"
#include "tests/executor/plan/plan_cases.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/support/toy_ops.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/search/tflms_sets.h"

namespace spillway {
namespace {

using testing::BudgetBetween;
using testing::CaseOf;
using testing::ChainGraph;
using ::testing::HasSubstr;
using testing::InputsOf;
using testing::IsOk;
using testing::LeastCases;
using testing::LinkOf;
using testing::ModelOf;
using testing::NaiveLeastBytes;
using testing::NumCases;
using testing::PlanText;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::ToyOps;
using testing::TrainingCase;
using testing::TunerCase;

using testing::kExhausted;
constexpr int64_t kTunedBytes = 1024;

// f1 f2 f3 f4 b4 b3 b2 b1, which need 1 2 3 4 5 5 4 3 units.
TunerCase TunedChain(int64_t kernel_ns) {
  return CaseOf(ChainGraph(4, kTunedBytes, false), ToyOps(), kernel_ns,
                LinkOf(1));
}

TEST(TuneSwapsTest, AStepThatFitsIsLeftAlone) {
  const TunerCase chain = TunedChain(10);
  for (const std::optional<int64_t> budget :
       {std::optional<int64_t>(5 * kTunedBytes), std::optional<int64_t>()}) {
    ASSERT_OK_AND_ASSIGN(const TunedStep tuned,
                         TuneSwaps(InputsOf(chain, budget), {}));
    EXPECT_FALSE(tuned.is_necessary);
    EXPECT_THAT(tuned.reason, HasSubstr("LMS is not necessary: peak 5 KiB"));
    EXPECT_TRUE(tuned.chosen.recipe.swaps.swaps.empty());
    EXPECT_EQ(tuned.chosen.step.step_ns, 80);
    EXPECT_EQ(tuned.bound.step_ns, 80);
    EXPECT_THAT(tuned.tried, SizeIs(1));
  }
}

TEST(TuneSwapsTest, AChainIsTunedToItsBound) {
  // 10: f1; 1024: f1 leaves; 20: b4 b3; 1024: f1 comes back; 10: b1.
  ASSERT_OK_AND_ASSIGN(
      const TunedStep tuned,
      TuneSwaps(InputsOf(TunedChain(10), 4 * kTunedBytes), {}));
  EXPECT_TRUE(tuned.is_necessary);
  EXPECT_EQ(tuned.bound.step_ns, 2088);
  EXPECT_EQ(tuned.chosen.step.step_ns, 2088);
  EXPECT_EQ(tuned.chosen.plan.device_bytes, 4 * kTunedBytes);
  EXPECT_THAT(tuned.chosen.recipe.swaps.swaps, SizeIs(1));
  EXPECT_THAT(tuned.chosen.recipe.name, HasSubstr("per tensor"));
}

TEST(TuneSwapsTest, LongKernelsHideTheCopiesThatHaveTime) {
  const TunerCase chain = TunedChain(5000);
  ASSERT_OK_AND_ASSIGN(const TunedStep hidden,
                       TuneSwaps(InputsOf(chain, 4 * kTunedBytes), {}));
  EXPECT_EQ(hidden.chosen.step.step_ns, 40'000);
  // f2 comes back between b3 and b2, f1 between b2 and b1.
  ASSERT_OK_AND_ASSIGN(const TunedStep waiting,
                       TuneSwaps(InputsOf(chain, 3 * kTunedBytes), {}));
  EXPECT_EQ(waiting.chosen.step.step_ns, 40'000 + 2 * 1024);
}

TEST(TuneSwapsTest, WhereNothingFitsItSaysWhatIsMissing) {
  EXPECT_THAT(TuneSwaps(InputsOf(TunedChain(10), kTunedBytes), {}),
              StatusIs(kExhausted, HasSubstr(" missing; ")));
}

TEST(TuneSwapsTest, OptionsOutOfTheirRangeAreRefused) {
  const TunerCase chain = TunedChain(10);
  EXPECT_THAT(TuneSwaps(InputsOf(chain, 4 * kTunedBytes),
                        {.lms = {.mode = LmsMode::kV1, .v1 = {.lb = -1}}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lb")));
}

TEST(TuneSwapsTest, OnceStoppedItKeepsWhatItHas) {
  const TunerCase chain = TunedChain(10);
  int asked = 0;
  const auto stop_at = [&](int most) {
    asked = 0;
    return [&asked, most] { return ++asked > most; };
  };
  ASSERT_OK_AND_ASSIGN(
      const TunedStep all,
      TuneSwaps(InputsOf(chain, 3 * kTunedBytes), {.stop = stop_at(999)}));
  EXPECT_GT(asked, 2);
  EXPECT_THAT(TuneSwaps(InputsOf(chain, 3 * kTunedBytes), {.stop = stop_at(0)}),
              StatusIs(kExhausted, HasSubstr("then the search was stopped")));
  ASSERT_OK_AND_ASSIGN(const TunedStep some,
                       TuneSwaps(InputsOf(chain, 3 * kTunedBytes),
                                 {.stop = stop_at(asked - 1)}));
  EXPECT_GE(some.chosen.step.step_ns, all.chosen.step.step_ns);
}

// The first result among some steps and budgets for which swaps by `options`
// fit.
absl::StatusOr<TunedStep> FirstTuned(const LmsOptions& options) {
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const TunerCase tuner_case = TrainingCase(seed, 10);
    const StepModel model = ModelOf(tuner_case);
    for (int i = 0; i < 10; ++i) {
      const TunerInputs inputs = InputsOf(
          tuner_case,
          BudgetBetween(NaiveLeastBytes(model), model.peak_bytes - 1, i, 10));
      absl::StatusOr<TunedStep> tuned = TuneSwaps(inputs, {.lms = options});
      if (tuned.ok() && tuned->is_necessary) return tuned;
    }
  }
  return absl::NotFoundError("nothing to be tuned");
}

TEST(TuneSwapsTest, OneSetOfVersionOneIsTriedAlone) {
  const LmsOptions v1 = {.mode = LmsMode::kV1, .v1 = {.lb = 2}};
  ASSERT_OK_AND_ASSIGN(const TunedStep tuned, FirstTuned(v1));
  EXPECT_EQ(tuned.chosen.recipe.options.mode, LmsMode::kV1);
  EXPECT_FALSE(tuned.chosen.recipe.swaps.swaps.empty());
  ASSERT_EQ(tuned.tried.size(), 1U);
  EXPECT_EQ(tuned.tried.front().name, DescribeOptions(v1));
}

// A set that was requested by name is tried in any case.
TEST(TuneSwapsTest, TheFirstSetIsTriedWithoutAnyTime) {
  const TunerCase training = TrainingCase(1, 10);
  const int64_t ample = 2 * ModelOf(training).peak_bytes;
  const LmsOptions v2 = {
      .mode = LmsMode::kV2,
      .v2 = {.swapout_threshold = 1, .swapin_ahead = 1, .swapin_groupby = 0}};
  for (const LmsOptions& lms : {LmsOptions{.mode = LmsMode::kV1}, v2}) {
    const TunerOptions options = {.lms = lms, .stop = [] { return true; }};
    ASSERT_OK_AND_ASSIGN(const TunedStep tuned,
                         TuneSwaps(InputsOf(training, ample), options));
    EXPECT_EQ(tuned.tried.size(), 1U);
    EXPECT_EQ(tuned.chosen.recipe.options.mode, lms.mode);
    EXPECT_THAT(TuneSwaps(InputsOf(training, 1), options),
                StatusIs(kExhausted, HasSubstr("then the search was stopped")));
  }
}

TEST(TuneSwapsTest, OnlyTheNumbersOfVersionTwoThatAreNotGivenVary) {
  ASSERT_OK_AND_ASSIGN(const TunedStep tuned,
                       FirstTuned({.mode = LmsMode::kV2,
                                   .v2 = {.swapout_threshold = 1,
                                          .swapin_ahead = -1,
                                          .swapin_groupby = 2,
                                          .sync_mode = 1}}));
  std::vector<int64_t> aheads;
  for (const TriedSet& tried : tuned.tried) {
    if (tried.options.mode == LmsMode::kOff) continue;
    EXPECT_EQ(tried.options.mode, LmsMode::kV2);
    EXPECT_EQ(tried.options.v2.swapout_threshold, 1);
    EXPECT_EQ(tried.options.v2.swapin_groupby, 2);
    EXPECT_EQ(tried.options.v2.sync_mode, 1);
    aheads.push_back(tried.options.v2.swapin_ahead);
  }
  EXPECT_GT(aheads.size(), 2U);
  std::ranges::sort(aheads);
  EXPECT_TRUE(std::ranges::adjacent_find(aheads) == aheads.end());
}

// Checks the guarantees of every result.
void ExpectSound(const TunerInputs& inputs, const TunedStep& tuned) {
  const EvaluatedRecipe& chosen = tuned.chosen;
  const int64_t budget = *inputs.compile.device_budget_bytes;
  EXPECT_LE(chosen.plan.device_bytes, budget);
  EXPECT_THAT(VerifyPlan(chosen.plan, chosen.graph, inputs.ops), IsOk());
  EXPECT_EQ(testing::NaiveFault(chosen.plan, chosen.graph, inputs.ops), "");
  EXPECT_GE(chosen.step.step_ns, tuned.bound.step_ns);
  std::optional<int64_t> fastest_ns;
  for (const TriedSet& tried : tuned.tried) {
    EXPECT_EQ(tried.reason.empty(), tried.fits);
    if (!tried.fits) continue;
    EXPECT_LE(tried.device_bytes, budget);
    fastest_ns = std::min(tried.step_ns, fastest_ns.value_or(tried.step_ns));
  }
  EXPECT_EQ(chosen.step.step_ns, fastest_ns);
  ASSERT_OK_AND_ASSIGN(
      const ExecutionPlan again,
      CompilePlan(chosen.graph, inputs.ops, chosen.recipe.schedule,
                  OptionsFor(chosen.recipe, chosen.graph, inputs.compile)));
  EXPECT_EQ(PlanText(again), PlanText(chosen.plan));
}

std::string Text(const TunedStep& tuned) {
  std::string text = tuned.reason + PlanText(tuned.chosen.plan);
  for (const TriedSet& tried : tuned.tried) {
    text += tried.name + tried.reason + std::to_string(tried.step_ns);
  }
  return text;
}

void ExpectSoundAtEachBudget(const TunerCase& tuner_case, int budgets,
                             int& tuned_steps) {
  const StepModel model = ModelOf(tuner_case);
  for (int i = 0; i < budgets; ++i) {
    const TunerInputs inputs = InputsOf(
        tuner_case,
        BudgetBetween(NaiveLeastBytes(model), model.peak_bytes, i, budgets));
    SCOPED_TRACE(::testing::Message()
                 << "budget " << *inputs.compile.device_budget_bytes);
    const absl::StatusOr<TunedStep> tuned = TuneSwaps(inputs, {});
    if (!tuned.ok()) {
      EXPECT_THAT(tuned, StatusIs(kExhausted, HasSubstr("device memory")));
      continue;
    }
    ++tuned_steps;
    ExpectSound(inputs, *tuned);
    if (i % 3 == 1) {
      ASSERT_OK_AND_ASSIGN(const TunedStep again, TuneSwaps(inputs, {}));
      EXPECT_EQ(Text(*tuned), Text(again));
    }
  }
}

TEST(TuneSwapsTest, RandomStepsAreTunedSoundly) {
  int tuned_steps = 0;
  for (uint64_t seed = 0; seed < NumCases(12) && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    ExpectSoundAtEachBudget(TrainingCase(seed, 10), 4, tuned_steps);
    ExpectSoundAtEachBudget(testing::SmallRandomCase(seed, 24), 4, tuned_steps);
    ExpectSoundAtEachBudget(testing::RandomCase(seed, 24), 4, tuned_steps);
  }
  EXPECT_GT(tuned_steps, LeastCases(90));
}

TEST(TuneSwapsTest, NetworksAreTunedSoundly) {
  int tuned_steps = 0;
  ExpectSoundAtEachBudget(testing::ZooCase("lenet", 28, 32, 8), 4, tuned_steps);
  ExpectSoundAtEachBudget(testing::ZooCase("resnet20", 16, 32, 8), 2,
                          tuned_steps);
  EXPECT_GT(tuned_steps, 3);
}

}  // namespace
}  // namespace spillway
