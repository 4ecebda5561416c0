// The tuner with recomputation: its plans and its bound, compared with itself
// at other budgets and with the classic policies.
//
// SPILLWAY_STRESS_CASES sets the number of random cases of a comparison.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/tuner/space_case.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/policies/policies.h"
#include "tuner/search/tune_swaps.h"

namespace spillway {
namespace {

using testing::BudgetBetween;
using testing::Clonable;
using testing::DerivedKernelsOf;
using testing::InputsOf;
using testing::LinkOf;
using testing::NumCases;
using testing::SmallRandomCase;
using testing::StressSetting;
using testing::TrainingCase;
using testing::TunerCase;
using testing::ZooCase;

absl::StatusOr<TunedStep> TuneFates(const TunerCase& tuner_case,
                                    int64_t budget_bytes,
                                    const RecomputeOptions& options = {}) {
  const RecomputeChoices choices = {.derived = DerivedKernelsOf(tuner_case),
                                    .options = options};
  TunerInputs inputs = InputsOf(tuner_case, budget_bytes);
  inputs.choices = &choices;
  return TuneSwaps(inputs, {});
}

// Of two kinds: with links between distant nodes, and a training step.
TunerCase RandomStep(int64_t seed) {
  const auto at = static_cast<uint64_t>(seed);
  TunerCase tuner_case =
      seed % 2 == 0 ? TrainingCase(at, 12) : Clonable(SmallRandomCase(at, 20));
  tuner_case.keep =
      NodesToRun(tuner_case.graph, tuner_case.ops, tuner_case.options.fetches);
  return tuner_case;
}

TEST(TuneFatesTest, NoPlanIsAboveItsBudgetBelowItsBoundOrSlowerThanSwaps) {
  int64_t faster = 0;
  for (int64_t seed = 1; seed <= NumCases(60); ++seed) {
    SCOPED_TRACE(seed);
    TunerCase tuner_case =
        Clonable(SmallRandomCase(static_cast<uint64_t>(seed), 14));
    tuner_case.options.fetches = {};  // all nodes run
    tuner_case.profile = LinkOf(seed % 2 == 0 ? 0.3 : 0.05);
    const int64_t peak = ModelOf(tuner_case).peak_bytes;
    for (const int64_t percent : {85, 70, 55}) {
      SCOPED_TRACE(percent);
      const int64_t budget = peak * percent / 100;
      const auto fates = TuneFates(tuner_case, budget);
      const auto swaps = TuneSwaps(InputsOf(tuner_case, budget), {});
      if (!fates.ok()) {
        EXPECT_TRUE(absl::IsResourceExhausted(fates.status()));
        EXPECT_FALSE(swaps.ok());
        continue;
      }
      EXPECT_LE(fates->chosen.plan.device_bytes, budget);
      EXPECT_GE(fates->chosen.step.step_ns, fates->bound.step_ns);
      if (!swaps.ok()) continue;
      EXPECT_LE(fates->chosen.step.step_ns, swaps->chosen.step.step_ns);
      faster += fates->chosen.step.step_ns < swaps->chosen.step.step_ns;
    }
  }
  EXPECT_GT(faster, testing::LeastCases(10));
}

// ResNet-50 in half of its memory behind a slow link: swaps alone take much
// longer than recomputing batch norms.
TEST(TuneFatesTest, RecomputesBatchNormsWhereTheLinkIsSlow) {
  const TunerCase tuner_case = ZooCase("resnet50", 224, 16, 5);
  const int64_t budget = ModelOf(tuner_case).peak_bytes / 2;
  ASSERT_OK_AND_ASSIGN(const TunedStep fates, TuneFates(tuner_case, budget));
  ASSERT_OK_AND_ASSIGN(const TunedStep swaps,
                       TuneSwaps(InputsOf(tuner_case, budget), {}));
  EXPECT_LT(static_cast<double>(fates.chosen.step.step_ns),
            0.8 * static_cast<double>(swaps.chosen.step.step_ns));
  EXPECT_GE(fates.chosen.step.step_ns, fates.bound.step_ns);
  EXPECT_LT(static_cast<double>(fates.chosen.step.step_ns),
            1.05 * static_cast<double>(fates.bound.step_ns));
  int64_t derived = 0;
  for (const Clone& clone : fates.chosen.recipe.recompute.clones) {
    derived += clone.derived_output >= 0;
  }
  EXPECT_GT(derived, 5);
}

// A link that hides all copies, but they slow the kernels beside them.
TEST(TuneFatesTest, RecomputesWhatWouldSlowKernelsDown) {
  TunerCase tuner_case = ZooCase("resnet20", 32, 16, 100);
  const int64_t budget = ModelOf(tuner_case).peak_bytes / 2;
  const auto clones = [&] {
    const auto fates = TuneFates(tuner_case, budget);
    const auto swaps = TuneSwaps(InputsOf(tuner_case, budget), {});
    EXPECT_TRUE(fates.ok() && swaps.ok());
    EXPECT_LE(fates->chosen.step.step_ns, swaps->chosen.step.step_ns);
    return fates->chosen.recipe.recompute.clones.size();
  };
  const size_t before = clones();
  tuner_case.profile.kernel_ns_per_copied_byte = 0.05;
  EXPECT_GT(clones(), before + 5);
}

// In 240 random steps: slower at 1 of 1,096 budgets, by 0.13 %.
TEST(TuneFatesTest, MoreMemoryIsHardlyEverSlower) {
  constexpr int kBudgets = 12;
  const int64_t cases = StressSetting("SPILLWAY_STRESS_CASES", NumCases(10));
  int64_t compared = 0;
  int64_t slower = 0;
  double worst = 1;
  for (int64_t seed = 1; seed <= cases; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const TunerCase tuner_case = RandomStep(seed);
    const int64_t peak = ModelOf(tuner_case).peak_bytes;
    std::optional<int64_t> fastest_ns;
    for (int i = 0; i < kBudgets; ++i) {
      const auto tuned =
          TuneFates(tuner_case, BudgetBetween(peak / 4, peak, i, kBudgets));
      if (!tuned.ok()) {
        EXPECT_FALSE(fastest_ns.has_value()) << tuned.status();
        continue;
      }
      const int64_t step_ns = tuned->chosen.step.step_ns;
      if (fastest_ns) {
        const double ratio =
            static_cast<double>(step_ns) / static_cast<double>(*fastest_ns);
        ++compared;
        slower += ratio > 1.001 ? 1 : 0;
        worst = std::max(worst, ratio);
      }
      fastest_ns = std::min(fastest_ns.value_or(step_ns), step_ns);
    }
  }
  EXPECT_GT(compared, cases);
  EXPECT_LE(slower, compared / 100);
  EXPECT_LT(worst, 1.01);
}

TEST(TuneFatesTest, NoClassicPolicyIsFaster) {
  const int64_t cases = StressSetting("SPILLWAY_STRESS_CASES", NumCases(16));
  int64_t compared = 0;
  for (int64_t seed = 1; seed <= cases; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const TunerCase tuner_case = RandomStep(seed);
    const int64_t peak = ModelOf(tuner_case).peak_bytes;
    const RecomputeChoices choices = {.derived = DerivedKernelsOf(tuner_case)};
    for (const int64_t percent : {95, 80, 65, 50}) {
      SCOPED_TRACE(percent);
      const int64_t budget = peak * percent / 100;
      const auto tuned = TuneFates(tuner_case, budget);
      TunerInputs inputs = InputsOf(tuner_case, budget);
      inputs.choices = &choices;
      ASSERT_OK_AND_ASSIGN(const std::vector<PolicyResult> policies,
                           ComparePolicies(inputs));
      for (const PolicyResult& policy : policies) {
        if (!policy.is_realised || !policy.fits) continue;
        SCOPED_TRACE(policy.name);
        ++compared;
        ASSERT_THAT(tuned.status(), testing::IsOk());
        EXPECT_LE(static_cast<double>(tuned->chosen.step.step_ns),
                  1.001 * static_cast<double>(policy.step_ns));
      }
    }
  }
  EXPECT_GT(compared, 4 * cases);
}

// The same inputs give the same plan, byte for byte.
TEST(TuneFatesTest, TheSameInputsGiveTheSamePlan) {
  for (const int64_t seed : {2, 3, 7}) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const TunerCase tuner_case = RandomStep(seed);
    const int64_t budget = ModelOf(tuner_case).peak_bytes * 7 / 10;
    const auto once = TuneFates(tuner_case, budget);
    const auto twice = TuneFates(tuner_case, budget);
    ASSERT_EQ(once.ok(), twice.ok());
    if (!once.ok()) continue;
    EXPECT_EQ(once->chosen.recipe.name, twice->chosen.recipe.name);
    EXPECT_EQ(once->chosen.recipe.schedule.order,
              twice->chosen.recipe.schedule.order);
    EXPECT_EQ(once->chosen.step.step_ns, twice->chosen.step.step_ns);
    ASSERT_EQ(once->chosen.plan.buffers.size(),
              twice->chosen.plan.buffers.size());
    for (const BufferId id : once->chosen.plan.buffers.ids()) {
      EXPECT_EQ(once->chosen.plan.buffers[id].offset,
                twice->chosen.plan.buffers[id].offset);
    }
  }
}

TEST(TuneFatesTest, ExcludedNodesAreNotRecomputed) {
  const TunerCase tuner_case = ZooCase("resnet20", 32, 16, 1);
  const int64_t budget = ModelOf(tuner_case).peak_bytes / 2;
  ASSERT_OK_AND_ASSIGN(
      const TunedStep tuned,
      TuneFates(tuner_case, budget, {.excl_types = {"FusedBatchNorm"}}));
  for (const Clone& clone : tuned.chosen.recipe.recompute.clones) {
    EXPECT_NE(tuner_case.graph.node(clone.original).op, "FusedBatchNorm");
  }
}

}  // namespace
}  // namespace spillway
