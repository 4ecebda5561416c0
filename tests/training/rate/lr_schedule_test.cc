#include "training/rate/lr_schedule.h"

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
  for (int64_t step = 0; step < 6; ++step) {
    EXPECT_EQ(rate(step), LinearDecay(0.4, 4)(step));
  }
}

TEST(LrScheduleTest, DecayOverNoStepsIsOverAtOnce) {
  for (const int64_t steps : {0, -5}) {
    for (const int64_t step : {-1, 0, 1}) {
      EXPECT_EQ(LinearDecay(0.1, steps)(step), 0);
      EXPECT_NEAR(CosineDecay(0.1, steps)(step), 0, 1e-15);
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

}  // namespace
}  // namespace spillway
