#include "training/rate/lr_schedule.h"

#include <cmath>

#include "gtest/gtest.h"

namespace spillway {
namespace {

TEST(LrScheduleTest, ConstantRateNeverChanges) {
  const LrSchedule rate = ConstantRate(0.005);
  EXPECT_EQ(rate(0), 0.005);
  EXPECT_EQ(rate(1'000'000), 0.005);
}

TEST(LrScheduleTest, PiecewiseRateChangesAtItsBoundaries) {
  // CIFAR ResNet: .1, .01, .001, .0002 at epochs 82, 123, 300.
  const LrSchedule rate =
      PiecewiseRate({82, 123, 300}, {0.1, 0.01, 0.001, 0.0002});
  EXPECT_EQ(rate(0), 0.1);
  EXPECT_EQ(rate(81), 0.1);
  EXPECT_EQ(rate(82), 0.01);
  EXPECT_EQ(rate(122), 0.01);
  EXPECT_EQ(rate(123), 0.001);
  EXPECT_EQ(rate(299), 0.001);
  EXPECT_EQ(rate(300), 0.0002);
  EXPECT_EQ(rate(5000), 0.0002);
}

TEST(LrScheduleTest, LinearDecayReachesZeroAndStaysThere) {
  const LrSchedule rate = LinearDecay(0.4, 4);
  EXPECT_DOUBLE_EQ(rate(0), 0.4);
  EXPECT_DOUBLE_EQ(rate(1), 0.3);
  EXPECT_DOUBLE_EQ(rate(3), 0.1);
  EXPECT_EQ(rate(4), 0);
  EXPECT_EQ(rate(100), 0);
}

TEST(LrScheduleTest, CosineDecayIsHalfWayInTheMiddle) {
  const LrSchedule rate = CosineDecay(1.0, 60);
  EXPECT_DOUBLE_EQ(rate(0), 1.0);
  EXPECT_DOUBLE_EQ(rate(20), 0.75);  // cos 60 degrees = 1/2
  EXPECT_DOUBLE_EQ(rate(30), 0.5);
  EXPECT_DOUBLE_EQ(rate(40), 0.25);
  EXPECT_NEAR(rate(60), 0.0, 1e-15);
  EXPECT_NEAR(rate(1000), 0.0, 1e-15);
}

TEST(LrScheduleTest, WarmUpClimbsToWhereTheScheduleIs) {
  const LrSchedule rate = WithWarmUp(PiecewiseRate({10}, {1.0, 0.1}), 5);
  EXPECT_DOUBLE_EQ(rate(0), 0.2);
  EXPECT_DOUBLE_EQ(rate(1), 0.4);
  EXPECT_DOUBLE_EQ(rate(4), 1.0);
  EXPECT_DOUBLE_EQ(rate(5), 1.0);
  EXPECT_DOUBLE_EQ(rate(10), 0.1);
}

TEST(LrScheduleTest, WarmUpOverNoStepsChangesNothing) {
  const LrSchedule rate = WithWarmUp(LinearDecay(0.4, 4), 0);
  for (int64_t update = 0; update < 6; ++update) {
    EXPECT_EQ(rate(update), LinearDecay(0.4, 4)(update));
  }
}

TEST(LrScheduleTest, DecayOverNoStepsIsOverAtOnce) {
  for (const int64_t updates : {0, -5}) {
    for (const int64_t update : {-1, 0, 1}) {
      EXPECT_EQ(LinearDecay(0.1, updates)(update), 0);
      EXPECT_NEAR(CosineDecay(0.1, updates)(update), 0, 1e-15);
    }
  }
}

TEST(LrScheduleTest, PiecewiseRateTakesBoundariesInAnyOrder) {
  const LrSchedule rate = PiecewiseRate({10, 5}, {3, 2, 1});
  EXPECT_EQ(rate(4), 3);
  EXPECT_EQ(rate(5), 2);
  EXPECT_EQ(rate(10), 1);
}

TEST(LrScheduleTest, PiecewiseRateStaysAtTheLastOfTooFewRates) {
  const LrSchedule rate = PiecewiseRate({5, 10}, {3, 2});
  EXPECT_EQ(rate(5), 2);
  EXPECT_EQ(rate(10), 2);
  EXPECT_EQ(PiecewiseRate({5}, {})(7), 0);
}

TEST(LrScheduleTest, PiecewiseRateLeavesOutTheLastOfTooManyRates) {
  const LrSchedule rate = PiecewiseRate({5}, {3, 2, 1});
  EXPECT_EQ(rate(1'000'000), 2);
}

TEST(LrScheduleTest, WarmUpOverLessThanNoStepsChangesNothing) {
  EXPECT_EQ(WithWarmUp(LinearDecay(0.4, 4), -3)(2), LinearDecay(0.4, 4)(2));
}

TEST(LrScheduleTest, WarmUpToNoScheduleIsNone) {
  EXPECT_EQ(WithWarmUp(nullptr, 5), nullptr);
}

TEST(LrScheduleTest, StepDecayFallsOnceEverySoManyUpdates) {
  const LrSchedule rate = StepDecay(0.8, 0.5, 3);
  EXPECT_EQ(rate(0), 0.8);
  EXPECT_EQ(rate(2), 0.8);
  EXPECT_EQ(rate(3), 0.4);
  EXPECT_EQ(rate(5), 0.4);
  EXPECT_EQ(rate(6), 0.2);
}

TEST(LrScheduleTest, StepDecayEveryZeroUpdatesIsConstant) {
  EXPECT_EQ(StepDecay(0.8, 0.5, 0)(7), 0.8);
  EXPECT_EQ(StepDecay(0.8, 0.5, -1)(7), 0.8);
}

TEST(LrScheduleTest, ExponentialDecayFallsAtEachUpdate) {
  const LrSchedule rate = ExponentialDecay(0.8, 0.5);
  EXPECT_EQ(rate(0), 0.8);
  EXPECT_EQ(rate(1), 0.4);
  EXPECT_EQ(rate(4), 0.05);
}

TEST(LrScheduleTest, InverseDecayIsAPowerOfOnePlusGammaTimesTheUpdate) {
  const LrSchedule rate = InverseDecay(0.01, 0.5, 0.75);
  EXPECT_EQ(rate(0), 0.01);
  EXPECT_DOUBLE_EQ(rate(30), 0.01 / 8);  // 16^0.75 = 8
}

TEST(LrScheduleTest, SigmoidDecayIsHalfWayAtItsStep) {
  const LrSchedule falling = SigmoidDecay(0.2, -0.5, 10);
  EXPECT_DOUBLE_EQ(falling(0), 0.2 / (1 + std::exp(-5)));
  EXPECT_DOUBLE_EQ(falling(10), 0.1);
  EXPECT_DOUBLE_EQ(falling(14), 0.2 / (1 + std::exp(2)));
  const LrSchedule rising = SigmoidDecay(0.2, 0.5, 10);
  EXPECT_DOUBLE_EQ(rising(14), 0.2 / (1 + std::exp(-2)));
}

TEST(LrScheduleTest, PolynomialDecayOfPowerTwoIsASquare) {
  const LrSchedule rate = PolynomialDecay({.rate = 0.4, .last_update = 100}, 2);
  EXPECT_DOUBLE_EQ(rate(0), 0.4);
  EXPECT_DOUBLE_EQ(rate(25), 0.225);
  EXPECT_DOUBLE_EQ(rate(50), 0.1);
  EXPECT_DOUBLE_EQ(rate(75), 0.025);
  EXPECT_EQ(rate(100), 0);
  EXPECT_EQ(rate(101), 0);
}

TEST(LrScheduleTest, PolynomialDecayAfterAWarmUpBeginsAtItsEnd) {
  const LrSchedule rate = WithWarmUp(
      PolynomialDecay({.rate = 3, .first_update = 100, .last_update = 1000}, 2),
      3, {.steps = 100, .begin = 0});
  EXPECT_EQ(rate(0), 0);
  EXPECT_EQ(rate(50), 1.5);
  EXPECT_EQ(rate(100), 3);
  EXPECT_DOUBLE_EQ(rate(550), 0.75);
  EXPECT_EQ(rate(1000), 0);
}

TEST(LrScheduleTest, DecaysEndAtTheFinalRate) {
  const Decay decay = {
      .rate = 0.5, .final_rate = 0.1, .first_update = 10, .last_update = 20};
  for (const LrSchedule& rate :
       {PolynomialDecay(decay, 2), CosineDecay(decay)}) {
    EXPECT_DOUBLE_EQ(rate(0), 0.5);
    EXPECT_DOUBLE_EQ(rate(10), 0.5);
    EXPECT_DOUBLE_EQ(rate(20), 0.1);
    EXPECT_DOUBLE_EQ(rate(1000), 0.1);
  }
  EXPECT_DOUBLE_EQ(PolynomialDecay(decay, 2)(15), 0.2);
  EXPECT_DOUBLE_EQ(CosineDecay(decay)(15), 0.3);
}

TEST(LrScheduleTest, MultiFactorMultipliesAtEachBoundary) {
  const LrSchedule rate = MultiFactor(0.8, 0.5, {30, 60, 80});
  EXPECT_EQ(rate(29), 0.8);
  EXPECT_EQ(rate(30), 0.4);
  EXPECT_EQ(rate(79), 0.2);
  EXPECT_EQ(rate(80), 0.1);
  EXPECT_EQ(MultiFactor(0.8, 0.5, {})(1000), 0.8);
}

TEST(LrScheduleTest, OfEpochAsksWithTheEpochOfTheUpdate) {
  const auto epoch_of = [](int64_t update) { return update / 10; };
  const LrSchedule rate = OfEpoch(ExponentialDecay(0.8, 0.5), epoch_of);
  EXPECT_EQ(rate(9), 0.8);
  EXPECT_EQ(rate(10), 0.4);
  EXPECT_EQ(rate(25), 0.2);
  EXPECT_EQ(OfEpoch(nullptr, epoch_of), nullptr);
  EXPECT_EQ(OfEpoch(ConstantRate(1), nullptr), nullptr);
}

TEST(LrScheduleTest, WarmUpClimbsFromItsBegin) {
  const LrSchedule rate =
      WithWarmUp(ConstantRate(0.5), 0.5, {.steps = 4, .begin = 0.1});
  EXPECT_EQ(rate(0), 0.1);
  EXPECT_DOUBLE_EQ(rate(1), 0.2);
  EXPECT_DOUBLE_EQ(rate(3), 0.4);
  EXPECT_EQ(rate(4), 0.5);
}

TEST(LrScheduleTest, ConstantWarmUpStaysAtItsBegin) {
  const LrSchedule rate =
      WithWarmUp(ConstantRate(0.5), 0.5,
                 {.steps = 4, .begin = 0.1, .mode = WarmUpMode::kConstant});
  EXPECT_EQ(rate(0), 0.1);
  EXPECT_EQ(rate(3), 0.1);
  EXPECT_EQ(rate(4), 0.5);
}

TEST(LrScheduleTest, WarmUpFromABeginOverNoUpdatesChangesNothing) {
  EXPECT_EQ(WithWarmUp(ConstantRate(0.5), 0.5, {.steps = 0})(0), 0.5);
  EXPECT_EQ(WithWarmUp(nullptr, 0.5, {.steps = 3}), nullptr);
}

// ResNet-50 on ImageNet at a batch of 256, 100 updates per epoch: 0.128, a
// tenth of it at epochs 30, 60, 80 and 90, after 5 epochs of warm-up.
TEST(LrScheduleTest, ResNetHasAWarmUpBeforeItsPieces) {
  const LrSchedule rate =
      WithWarmUp(PiecewiseRate({3000, 6000, 8000, 9000},
                               {0.128, 0.0128, 0.00128, 0.000128, 0.0000128}),
                 0.128, {.steps = 500});
  EXPECT_EQ(rate(0), 0);
  EXPECT_DOUBLE_EQ(rate(250), 0.064);
  EXPECT_EQ(rate(500), 0.128);
  EXPECT_EQ(rate(2999), 0.128);
  EXPECT_EQ(rate(3000), 0.0128);
  EXPECT_EQ(rate(9000), 0.0000128);
}

TEST(LrScheduleTest, NegativeUpdatesAreAsTheFirst) {
  EXPECT_EQ(StepDecay(0.8, 0.5, 3)(-7), 0.8);
  EXPECT_EQ(ExponentialDecay(0.8, 0.5)(-7), 0.8);
  EXPECT_EQ(InverseDecay(0.8, 0.5, 0.75)(-7), 0.8);
}

}  // namespace
}  // namespace spillway
