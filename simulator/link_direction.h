// One direction of the link between host and device.
#ifndef SPILLWAY_SIMULATOR_LINK_DIRECTION_H_
#define SPILLWAY_SIMULATOR_LINK_DIRECTION_H_

#include <cstdint>
#include <vector>

namespace spillway {

// Measured times of a copy of `bytes`.
struct CopyTime {
  int64_t bytes = 0;
  int64_t alone_ns = 0;
  int64_t shared_ns = 0;  // while the other direction copies as well

  friend bool operator==(const CopyTime&, const CopyTime&) = default;
};

struct LinkDirection {
  // Used if by_size is empty: a copy of n bytes takes latency_ns + n / rate.
  int64_t latency_ns = 0;
  double bytes_per_second = 0;
  double shared_bytes_per_second = 0;
  // Measured times, ascending by size:
  //
  //   time  ^            . '   beyond the last: at its rate
  //         |        o '
  //         |   o--'           between two: on the line
  //         |--o               below the first: its time
  //         +-------------> bytes
  std::vector<CopyTime> by_size = {};

  friend bool operator==(const LinkDirection&, const LinkDirection&) = default;
};

// Sets latency and rates to approximate the table, which must not be empty and
// must have positive times.
void SummarizeTable(LinkDirection& direction);

// Nanoseconds of a copy of `bytes` by interpolation in a non-empty table.
double CopyNsBySize(const std::vector<CopyTime>& table, int64_t bytes,
                    int64_t CopyTime::*time);

// Nanoseconds of a copy of `bytes` that has the link to itself.
int64_t CopyNs(const LinkDirection& direction, int64_t bytes);

// The same while the other direction copies all the time; never less.
int64_t SharedCopyNs(const LinkDirection& direction, int64_t bytes);

// An upper bound on the rate of any copy, in bytes per nanosecond.
double BestRate(const LinkDirection& direction);

// The same direction, limited to `bytes_per_second`, where each copy also takes
// `pause_ns` to wake its sleeping waiter. Never faster than `direction`.
LinkDirection LimitRate(const LinkDirection& direction, double bytes_per_second,
                        int64_t pause_ns);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_LINK_DIRECTION_H_
