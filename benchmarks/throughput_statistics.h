// The numbers that tf_cnn_benchmarks prints about the times of training steps.
//
// Units: seconds in, images a second out. `seconds` are the steps since warm-up
// ended, oldest first; there is at least one and all are positive (CHECKed).
// Threads: pure functions. Cost: O(n log n).
// Source: tf_cnn_benchmarks, get_perf_timing.
#ifndef SPILLWAY_BENCHMARKS_THROUGHPUT_STATISTICS_H_
#define SPILLWAY_BENCHMARKS_THROUGHPUT_STATISTICS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "base/statistics.h"

namespace spillway {

// With v_i = images / seconds_i, the speeds of the single steps:
struct ThroughputStatistics {
  // images / mean(seconds): the harmonic mean of v, not its mean.
  double images_per_second = 0;
  // Population standard deviation of v, over the square root of their number.
  double uncertainty = 0;
  // 1.4826 median(|v - median(v)|): the standard deviation of a normal
  // distribution with this median deviation.
  double jitter = 0;
};

// `images` a step. With `ewma_weight` a in [0, 1] the mean of the seconds is
// weighted by (1 - a)^age, where the newest step has age 0; the spreads stay.
ThroughputStatistics SummarizeThroughput(
    int64_t images, std::span<const double> seconds,
    std::optional<double> ewma_weight = std::nullopt);

}  // namespace spillway

#endif  // SPILLWAY_BENCHMARKS_THROUGHPUT_STATISTICS_H_
