#include "benchmarks/throughput_statistics.h"

#include <vector>

#include "fmt/format.h"
#include "gtest/gtest.h"

namespace spillway {
namespace {

// Worked by hand from the definitions: v = 375, 365.85, 384.62, 375, 300.
TEST(ThroughputStatisticsTest, FiveStepsAsTheyArePrinted) {
  const std::vector<double> seconds = {0.40, 0.41, 0.39, 0.40, 0.50};
  const ThroughputStatistics statistics = SummarizeThroughput(150, seconds);
  EXPECT_EQ(fmt::format("{:.1f} +/- {:.1f} (jitter = {:.1f})",
                        statistics.images_per_second, statistics.uncertainty,
                        statistics.jitter),
            "357.1 +/- 13.7 (jitter = 13.6)");
}

// v = 320, 160, 320, 80; an even number of steps.
TEST(ThroughputStatisticsTest, FourSteps) {
  const std::vector<double> seconds = {0.1, 0.2, 0.1, 0.4};
  const ThroughputStatistics statistics = SummarizeThroughput(32, seconds);
  EXPECT_NEAR(statistics.images_per_second, 160.0, 1e-9);
  EXPECT_NEAR(statistics.uncertainty, 51.9615, 5e-5);
  EXPECT_NEAR(statistics.jitter, 118.608, 5e-4);
}

TEST(ThroughputStatisticsTest, WeightedTowardsTheNewestStep) {
  const std::vector<double> seconds = {0.1, 0.2, 0.1, 0.4};
  const ThroughputStatistics all = SummarizeThroughput(32, seconds);
  const ThroughputStatistics half = SummarizeThroughput(32, seconds, 0.5);
  EXPECT_NEAR(half.images_per_second, 117.0732, 5e-5);
  EXPECT_EQ(half.uncertainty, all.uncertainty);
  EXPECT_EQ(half.jitter, all.jitter);
}

TEST(ThroughputStatisticsTest, WeightZeroIsTheMeanAndWeightOneTheNewest) {
  const std::vector<double> seconds = {0.1, 0.2, 0.1, 0.4};
  EXPECT_NEAR(SummarizeThroughput(32, seconds, 0.0).images_per_second, 160.0,
              1e-9);
  EXPECT_NEAR(SummarizeThroughput(32, seconds, 1.0).images_per_second, 80.0,
              1e-9);
}

TEST(ThroughputStatisticsTest, OneStepHasNoSpread) {
  const std::vector<double> seconds = {0.25};
  const ThroughputStatistics statistics = SummarizeThroughput(8, seconds);
  EXPECT_EQ(statistics.images_per_second, 32.0);
  EXPECT_EQ(statistics.uncertainty, 0.0);
  EXPECT_EQ(statistics.jitter, 0.0);
}

TEST(ThroughputStatisticsTest, MedianOfAnEvenNumberIsBetweenTheMiddleTwo) {
  EXPECT_EQ(Median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median(std::vector<double>{5, 1, 3}), 3.0);
  EXPECT_EQ(Mean(std::vector<double>{5, 1, 3}), 3.0);
}

TEST(ThroughputStatisticsTest, PercentileIsAValueThatOccurs) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(Percentile(values, 0.95), 95.0);
  EXPECT_EQ(Percentile(values, 1.0), 100.0);
  EXPECT_EQ(Percentile(std::vector<double>{7}, 0.95), 7.0);
  EXPECT_EQ(Percentile(std::vector<double>{1, 2, 3}, 0.95), 3.0);
}

}  // namespace
}  // namespace spillway
