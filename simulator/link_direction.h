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
  int64_t shared_ns = 0;  // while the other direction copies too

  friend bool operator==(const CopyTime&, const CopyTime&) = default;
};

struct LinkDirection {
  // Where nothing was measured, a copy of n bytes takes latency_ns + n / rate.
  int64_t latency_ns = 0;
  double bytes_per_second = 0;
  double shared_bytes_per_second = 0;
  // Else by size, ascending:
  //
  //   time  ^            . '   beyond the last: at its rate
  //         |        o '
  //         |   o--'           between two: on the line
  //         |--o               below the first: its time
  //         +-------------> bytes
  std::vector<CopyTime> by_size = {};

  friend bool operator==(const LinkDirection&, const LinkDirection&) = default;
};

// Latency and rates that come near the table, which is not empty and whose
// times are positive.
void SummarizeTable(LinkDirection& direction);

// Nanoseconds of a copy of `bytes` by a table that is not empty.
double CopyNsBySize(const std::vector<CopyTime>& table, int64_t bytes,
                    int64_t CopyTime::*time);

// Nanoseconds of a copy of `bytes` that has the link to itself.
int64_t CopyNs(const LinkDirection& direction, int64_t bytes);

// Bytes a nanosecond that no copy exceeds, of whatever size.
double BestRate(const LinkDirection& direction);

// The same direction when it moves at most this many bytes a second, each copy
// ending in a sleep that `pause_ns` has to end. Never faster than it was.
LinkDirection LimitRate(const LinkDirection& direction, double bytes_per_second,
                        int64_t pause_ns);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_LINK_DIRECTION_H_
