// The budget that a refusal names: tuning succeeds with it, and fails with a
// slightly smaller one.
#include "tuner/search/smallest_budget.h"

#include <cstdint>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_size.h"
#include "tests/tuner/space_case.h"
#include "tests/tuner/tuner_case.h"
#include "tuner/model/step_model.h"

namespace spillway {
namespace {

using testing::DerivedKernelsOf;
using ::testing::HasSubstr;
using testing::InputsOf;
using testing::IsOk;
using testing::ModelOf;
using testing::NaiveLeastBytes;
using testing::NumCases;
using testing::TrainingCase;
using testing::TunerCase;
using testing::ZooCase;

TEST(SmallestBudgetTest, TuningSucceedsWithItAndNotWithMuchLess) {
  constexpr int kBudgets = 8;
  for (const LmsMode mode :
       {LmsMode::kOff, LmsMode::kV1, LmsMode::kV2, LmsMode::kAuto}) {
    SCOPED_TRACE(std::string(LmsModeName(mode)));
    const TunerOptions options = {.lms = {.mode = mode}};
    for (uint64_t seed = 1; seed <= NumCases(4); ++seed) {
      SCOPED_TRACE(seed);
      const TunerCase training = TrainingCase(seed, 10);
      const int64_t least = NaiveLeastBytes(ModelOf(training));
      const std::optional<MemoryShortage> found =
          FindSmallestBudget(InputsOf(training, least / 2), {}, options);
      ASSERT_TRUE(found.has_value());
      EXPECT_EQ(found->budget_bytes, least / 2);
      EXPECT_GE(found->needed_bytes, least);
      EXPECT_LE(found->floor_bytes, found->needed_bytes);
      EXPECT_THAT(TuneSwaps(InputsOf(training, found->needed_bytes), options),
                  IsOk());
      const int64_t most = found->needed_bytes * 100 / 102;
      for (int i = 0; i < kBudgets && most > least; ++i) {
        const int64_t budget = testing::BudgetBetween(least, most, i, kBudgets);
        EXPECT_FALSE(TuneSwaps(InputsOf(training, budget), options).ok())
            << budget << " of " << found->needed_bytes;
      }
    }
  }
}

TEST(SmallestBudgetTest, TellsWhatItCostsInTime) {
  const TunerCase training = TrainingCase(1, 10);
  const std::optional<MemoryShortage> found =
      FindSmallestBudget(InputsOf(training, 1), {}, {});
  ASSERT_TRUE(found.has_value());
  ASSERT_OK_AND_ASSIGN(const TunedStep tuned,
                       TuneSwaps(InputsOf(training, found->needed_bytes), {}));
  ASSERT_OK_AND_ASSIGN(const TunedStep unlimited,
                       TuneSwaps(InputsOf(training, std::nullopt), {}));
  EXPECT_EQ(found->step_ns, tuned.chosen.step.step_ns);
  EXPECT_EQ(found->unlimited_step_ns, unlimited.chosen.step.step_ns);
  EXPECT_TRUE(found->is_tuned);
}

TEST(SmallestBudgetTest, CountsRecomputation) {
  const TunerCase training = ZooCase("resnet20", 32, 4, 10);
  const RecomputeChoices choices = {.derived = DerivedKernelsOf(training)};
  TunerInputs inputs = InputsOf(training, 1);
  inputs.compile.host_budget_bytes = 0;  // so that nothing can be swapped
  const auto needed = [&] {
    const auto found = FindSmallestBudget(inputs, {}, {});
    return found ? found->needed_bytes : 0;
  };
  const int64_t without = needed();
  inputs.choices = &choices;
  const int64_t with = needed();
  EXPECT_GT(with, 0);
  EXPECT_LT(with, without);
}

// The host's pool is too small for the set, for any device memory.
TEST(SmallestBudgetTest, NoneWhereNoBudgetHelps) {
  const TunerCase training = TrainingCase(1, 10);
  TunerInputs inputs = InputsOf(training, 1);
  inputs.compile.host_budget_bytes = 1;
  EXPECT_EQ(FindSmallestBudget(inputs, {}, {.lms = {.mode = LmsMode::kV1}}),
            std::nullopt);
}

TEST(MemoryShortageTest, NamesEverything) {
  const MemoryShortage shortage = {.needed_bytes = 3 << 20,
                                   .budget_bytes = 1 << 20,
                                   .floor_bytes = 1 << 19,
                                   .floor_node = "conv",
                                   .is_tuned = true,
                                   .step_ns = 30'000'000,
                                   .unlimited_step_ns = 20'000'000};
  EXPECT_EQ(ShortageError(shortage).message(),
            "device memory: the step needs 3 MiB (3145728 bytes), the budget "
            "is 1 MiB: 2 MiB missing; the smallest budget with these options "
            "is 3145728 bytes, with a predicted step of 30 ms, 1.50 times that "
            "without a budget; the floor, the largest working set of one node, "
            "is 512 KiB at conv; lower the batch size (FindMaxBatch finds the "
            "largest that fits)");
}

}  // namespace
}  // namespace spillway
