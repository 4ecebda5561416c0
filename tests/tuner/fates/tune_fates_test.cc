// The tuner with recomputation: its plans and its bound.
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/tuner/space_case.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/search/tune_swaps.h"

namespace spillway {
namespace {

using testing::Clonable;
using testing::DerivedKernelsOf;
using testing::InputsOf;
using testing::LinkOf;
using testing::NumCases;
using testing::SmallRandomCase;
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
