#include "training/rate/large_batch_warm_up.h"

#include <limits>
#include <string>

#include "tests/support/status_matchers.h"

namespace spillway {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::kInvalid;
using testing::StatusIs;

// S = 8 after 500 batches.
LargeBatchWarmUp Over500(WarmUpStrategy strategy) {
  return {.strategy = strategy,
          .warmup_epochs = 5,
          .batch_scale = 8,
          .updates_per_epoch = 100};
}

struct Row {
  int64_t batches = 0;
  double linear = 0;
  double power2 = 0;
  double sqrt = 0;
};

TEST(LargeBatchWarmUpTest, HasTheFactorsOfMxnet) {
  for (const Row& row :
       {Row{.batches = 0, .linear = 1, .power2 = 1, .sqrt = 1},
        Row{.batches = 1,
        .linear = 1.014,
        .power2 = 1.000028,
        .sqrt = 1.313049517},
        Row{.batches = 125, .linear = 2.75, .power2 = 1.4375, .sqrt = 4.5},
        Row{.batches = 250, .linear = 4.5, .power2 = 2.75, .sqrt = 5.949747468},
        Row{.batches = 499,
        .linear = 7.986,
        .power2 = 7.972028,
        .sqrt = 7.992996496},
        Row{.batches = 500, .linear = 8, .power2 = 8, .sqrt = 8},
        Row{.batches = 1'000'000, .linear = 8, .power2 = 8, .sqrt = 8}}) {
    const auto factor = [&row](WarmUpStrategy strategy) {
      return LargeBatchFactor(Over500(strategy),
                              static_cast<double>(row.batches));
    };
    EXPECT_NEAR(factor(WarmUpStrategy::kLinear), row.linear, 1e-9);
    EXPECT_NEAR(factor(WarmUpStrategy::kPower2), row.power2, 1e-9);
    EXPECT_NEAR(factor(WarmUpStrategy::kSqrt), row.sqrt, 1e-9);
  }
}

TEST(LargeBatchWarmUpTest, LeavesTheFactorToTheLayersWithLars) {
  EXPECT_EQ(LargeBatchFactor(Over500(WarmUpStrategy::kLars), 250), 1);
  EXPECT_EQ(LargeBatchFactor(Over500(WarmUpStrategy::kLars), 500), 1);
}

TEST(LargeBatchWarmUpTest, IsOverAtOnceWithoutEpochs) {
  EXPECT_EQ(LargeBatchFactor({.warmup_epochs = 0, .batch_scale = 8}, 0), 8);
}

TEST(LargeBatchWarmUpTest, HasTheFactorOneBeforeAWarmUpOfOneBatch) {
  const LargeBatchWarmUp one = {
      .warmup_epochs = 1, .batch_scale = 8, .updates_per_epoch = 1};
  EXPECT_EQ(LargeBatchFactor(one, 0), 1);
  EXPECT_EQ(LargeBatchFactor(one, 1), 8);
}

// An update takes 8 batches: after 25 updates, 200 of 500 are done.
TEST(LargeBatchWarmUpTest, CountsTheBatchesOfTheUpdatesDoneBefore) {
  const LrSchedule rate =
      WithLargeBatchWarmUp(ConstantRate(0.1), Over500(WarmUpStrategy::kLinear));
  EXPECT_DOUBLE_EQ(rate(0), 0.1);
  EXPECT_DOUBLE_EQ(rate(25), 0.1 * (1 + 7 * 0.4));
  EXPECT_DOUBLE_EQ(rate(63), 0.8);
  EXPECT_GT(rate(std::numeric_limits<int64_t>::max()), 0.79);
}

TEST(LargeBatchWarmUpTest, MultipliesTheSchedule) {
  const LrSchedule rate = WithLargeBatchWarmUp(
      LinearDecay(0.1, 100), Over500(WarmUpStrategy::kLinear));
  EXPECT_DOUBLE_EQ(rate(75), 0.025 * 8);
  EXPECT_EQ(WithLargeBatchWarmUp(nullptr, {}), nullptr);
}

TEST(LargeBatchWarmUpTest, ParsesItsStrategies) {
  EXPECT_EQ(*ParseWarmUpStrategy("linear"), WarmUpStrategy::kLinear);
  EXPECT_EQ(*ParseWarmUpStrategy("power2"), WarmUpStrategy::kPower2);
  EXPECT_EQ(*ParseWarmUpStrategy("sqrt"), WarmUpStrategy::kSqrt);
  EXPECT_EQ(*ParseWarmUpStrategy("lars"), WarmUpStrategy::kLars);
  EXPECT_THAT(ParseWarmUpStrategy("cubic"),
              StatusIs(kInvalid, AllOf(HasSubstr("'cubic'"),
                                       HasSubstr("linear power2 sqrt lars"))));
}

TEST(LargeBatchWarmUpTest, RefusesCountsThatAreTooSmall) {
  EXPECT_THAT(CheckLargeBatchWarmUp({}), IsOk());
  EXPECT_THAT(CheckLargeBatchWarmUp({.warmup_epochs = -1}),
              StatusIs(kInvalid, "warmup_epochs is -1; it must be 0 or more"));
  EXPECT_THAT(CheckLargeBatchWarmUp({.batch_scale = 0}),
              StatusIs(kInvalid, "batch_scale is 0; it must be 1 or more"));
  EXPECT_THAT(
      CheckLargeBatchWarmUp({.updates_per_epoch = 0}),
      StatusIs(kInvalid, "updates_per_epoch is 0; it must be 1 or more"));
}

}  // namespace
}  // namespace spillway
