#include "benchmarks/throughput_statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace spillway {
namespace {

double PopulationDeviation(std::span<const double> values) {
  const double mean = Mean(values);
  double sum_of_squares = 0;
  for (const double value : values) {
    sum_of_squares += (value - mean) * (value - mean);
  }
  return std::sqrt(sum_of_squares / static_cast<double>(values.size()));
}

// The mean, weighted by (1 - weight)^age; the last value has age 0.
double WeightedMean(std::span<const double> values, double weight) {
  double sum = 0;
  double sum_of_weights = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto age = static_cast<double>(values.size() - 1 - i);
    const double factor = std::pow(1 - weight, age);
    sum += factor * values[i];
    sum_of_weights += factor;
  }
  return sum / sum_of_weights;
}

}  // namespace

ThroughputStatistics SummarizeThroughput(int64_t images,
                                         std::span<const double> seconds,
                                         std::optional<double> ewma_weight) {
  SPILLWAY_CHECK(!seconds.empty() && std::ranges::min(seconds) > 0);
  const auto count = static_cast<double>(images);
  std::vector<double> speeds;
  for (const double second : seconds) speeds.push_back(count / second);
  const double middle = Median(speeds);
  std::vector<double> deviations = speeds;
  for (double& deviation : deviations) {
    deviation = std::abs(deviation - middle);
  }
  const double mean_seconds =
      ewma_weight ? WeightedMean(seconds, *ewma_weight) : Mean(seconds);
  return {.images_per_second = count / mean_seconds,
          .uncertainty = PopulationDeviation(speeds) /
                         std::sqrt(static_cast<double>(speeds.size())),
          .jitter = 1.4826 * Median(deviations)};
}

}  // namespace spillway
