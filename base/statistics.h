// Means and order statistics of samples. `values` must not be empty (CHECKed).
// Cost: O(n log n).
#ifndef SPILLWAY_BASE_STATISTICS_H_
#define SPILLWAY_BASE_STATISTICS_H_

#include <span>

namespace spillway {

double Mean(std::span<const double> values);

// The middle value, or the mean of the middle two.
double Median(std::span<const double> values);

// The smallest value that at least `part` of all values do not exceed; part in
// (0, 1].
double Percentile(std::span<const double> values, double part);

}  // namespace spillway

#endif  // SPILLWAY_BASE_STATISTICS_H_
