// The numbers that tf_cnn_benchmarks prints about the times of training steps.
//
// Units: seconds in, images/s out. `seconds` are the steps since the end of
// warm-up, oldest first; at least one, all positive (CHECKed). Pure functions:
// thread-safe. Cost: O(n log n).
// Source: tf_cnn_benchmarks, get_perf_timing.
#ifndef SPILLWAY_BENCHMARKS_THROUGHPUT_STATISTICS_H_
#define SPILLWAY_BENCHMARKS_THROUGHPUT_STATISTICS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "base/statistics.h"

namespace spillway {

// With v_i = images / seconds_i, the speed of step i:
struct ThroughputStatistics {
  // images / mean(seconds): the harmonic mean of v, not its arithmetic mean.
  double images_per_second = 0;
  // Population standard deviation of v, divided by sqrt(n).
  double uncertainty = 0;
  // 1.4826 median(|v - median(v)|): the standard deviation of a normal
  // distribution with this median deviation.
  double jitter = 0;
};

// `images`: per step. With `ewma_weight` a in [0, 1], the mean of the seconds
// is weighted by (1 - a)^age, where the newest step has age 0; uncertainty and
// jitter do not change.
ThroughputStatistics SummarizeThroughput(
    int64_t images, std::span<const double> seconds,
    std::optional<double> ewma_weight = std::nullopt);

}  // namespace spillway

#endif  // SPILLWAY_BENCHMARKS_THROUGHPUT_STATISTICS_H_
