// All policies on random steps: budgets, bounds, determinism.
#include "tuner/policies/policies.h"

#include <map>
#include <string>
#include <tuple>

#include "gmock/gmock.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/tuner/policies/there_and_back.h"
#include "tests/tuner/space_case.h"
#include "tests/tuner/tuner_case.h"

namespace spillway {
namespace {

using testing::Clonable;
using testing::DerivedKernelsOf;
using ::testing::HasSubstr;
using testing::InputsOf;
using testing::kBlock;
using testing::NumCases;
using testing::SmallRandomCase;
using testing::StressSetting;
using testing::TrainingCase;
using testing::TunerCase;

absl::StatusOr<std::vector<PolicyResult>> Compare(const TunerCase& tuner_case,
                                                  int64_t budget_bytes) {
  const RecomputeChoices choices = {.derived = DerivedKernelsOf(tuner_case)};
  TunerInputs inputs = InputsOf(tuner_case, budget_bytes);
  inputs.choices = &choices;
  return ComparePolicies(inputs);
}

auto Tie(const PolicyResult& result) {
  return std::tie(result.name, result.is_realised, result.fits, result.reason,
                  result.step_ns, result.device_bytes, result.moved_bytes,
                  result.recompute_ns, result.bound_ns);
}

TEST(PoliciesTest, NoneIsAboveItsBudgetOrFasterThanItsBound) {
  std::map<std::string, int> fits;
  const int64_t cases = StressSetting("SPILLWAY_STRESS_CASES", NumCases(60));
  const int64_t first = StressSetting("SPILLWAY_STRESS_SEED", 1);
  for (int64_t seed = first; seed < first + cases; ++seed) {
    SCOPED_TRACE(seed);
    const auto at = static_cast<uint64_t>(seed);
    TunerCase tuner_case = seed % 2 == 0 ? TrainingCase(at, 12)
                                         : Clonable(SmallRandomCase(at, 20));
    tuner_case.keep = NodesToRun(tuner_case.graph, tuner_case.ops,
                                 tuner_case.options.fetches);
    const int64_t peak = ModelOf(tuner_case).peak_bytes;
    for (const int64_t percent : {100, 80, 60}) {
      SCOPED_TRACE(percent);
      const int64_t budget = peak * percent / 100;
      ASSERT_OK_AND_ASSIGN(const std::vector<PolicyResult> results,
                           Compare(tuner_case, budget));
      ASSERT_EQ(results.size(), PolicyNames().size());
      for (const PolicyResult& result : results) {
        SCOPED_TRACE(result.name);
        EXPECT_EQ(result.fits, result.reason.empty());
        if (!result.fits) continue;
        ++fits[result.name];
        EXPECT_LE(result.device_bytes, budget);
        ASSERT_TRUE(result.bound_ns.has_value());  // a plan of its class fits
        EXPECT_GE(result.step_ns, *result.bound_ns);
      }
    }
  }
  for (const std::string& name : PolicyNames()) {
    if (name.starts_with("tflms")) continue;  // needs a network's scopes
    if (name == "unified_2m") continue;       // the budgets are below one page
    EXPECT_GT(fits[name], 0) << name;
  }
}

TEST(PoliciesTest, AreDeterministic) {
  for (const uint64_t seed : {2, 3}) {
    const TunerCase tuner_case = Clonable(SmallRandomCase(seed, 20));
    const int64_t budget = ModelOf(tuner_case).peak_bytes * 7 / 10;
    ASSERT_OK_AND_ASSIGN(const auto once, Compare(tuner_case, budget));
    ASSERT_OK_AND_ASSIGN(const auto twice, Compare(tuner_case, budget));
    ASSERT_EQ(once.size(), twice.size());
    for (size_t i = 0; i < once.size(); ++i) {
      EXPECT_EQ(Tie(once[i]), Tie(twice[i])) << once[i].name;
    }
  }
}

// Five blocks hold the whole step (there_and_back.h).
TEST(PoliciesTest, TheStepThatFitsTakesItsKernels) {
  const TunerCase tuner_case = CaseOf(testing::ThereAndBack());
  const RecomputeChoices choices;
  TunerInputs inputs = InputsOf(tuner_case, 5 * kBlock);
  inputs.choices = &choices;
  ASSERT_OK_AND_ASSIGN(const EvaluatedPolicy all,
                       EvaluatePolicy(inputs, "keep_all"));
  EXPECT_TRUE(all.result.fits);
  EXPECT_TRUE(all.result.is_realised);
  EXPECT_EQ(all.result.step_ns, 7000);
  EXPECT_EQ(all.result.bound_ns, 7000);
  ASSERT_TRUE(all.chosen.has_value());
  EXPECT_EQ(all.chosen->recipe.name, "keep_all");

  inputs.compile.device_budget_bytes = 4 * kBlock;
  ASSERT_OK_AND_ASSIGN(const EvaluatedPolicy none,
                       EvaluatePolicy(inputs, "keep_all"));
  EXPECT_FALSE(none.result.fits);
  EXPECT_FALSE(none.result.bound_ns.has_value());
  EXPECT_FALSE(none.chosen.has_value());
  // a is computed again: one kernel more.
  ASSERT_OK_AND_ASSIGN(const EvaluatedPolicy dtr,
                       EvaluatePolicy(inputs, "dtr"));
  EXPECT_EQ(dtr.result.step_ns, 8000);
  EXPECT_EQ(dtr.result.recompute_ns, 1000);
  // The manager leaves a tenth of the free bytes free, so d evicts a, and z
  // evicts b. Both come back.
  ASSERT_OK_AND_ASSIGN(const EvaluatedPolicy lru,
                       EvaluatePolicy(inputs, "lru"));
  EXPECT_FALSE(lru.result.is_realised);
  EXPECT_EQ(lru.result.moved_bytes, 4 * kBlock);
  EXPECT_EQ(lru.result.step_ns, 7000 + 4 * kBlock);
}

TEST(PoliciesTest, RefusesOtherNames) {
  const TunerCase tuner_case = CaseOf(testing::ThereAndBack());
  const RecomputeChoices choices;
  TunerInputs inputs = InputsOf(tuner_case, 5 * kBlock);
  inputs.choices = &choices;
  const absl::Status status = EvaluatePolicy(inputs, "fifo").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("unified_2m"));
  inputs.choices = nullptr;
  EXPECT_TRUE(absl::IsInvalidArgument(EvaluatePolicy(inputs, "lru").status()));
}

}  // namespace
}  // namespace spillway
