#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/check.h"

namespace spillway {
namespace {

std::vector<double> Sorted(std::span<const double> values) {
  SPILLWAY_CHECK(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return sorted;
}

}  // namespace

double Mean(std::span<const double> values) {
  SPILLWAY_CHECK(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

double Median(std::span<const double> values) {
  const std::vector<double> sorted = Sorted(values);
  const size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return (sorted[middle - 1] + sorted[middle]) / 2;
}

double Percentile(std::span<const double> values, double part) {
  SPILLWAY_CHECK(part > 0 && part <= 1);
  const std::vector<double> sorted = Sorted(values);
  const double rank = std::ceil(part * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(rank) - 1];
}

}  // namespace spillway
