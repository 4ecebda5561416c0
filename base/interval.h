// Half-open interval [begin, end) of integers: places in a schedule, or bytes
// of an arena.
#ifndef SPILLWAY_BASE_INTERVAL_H_
#define SPILLWAY_BASE_INTERVAL_H_

#include <cstdint>

namespace spillway {

struct Interval {
  int64_t begin = 0;
  int64_t end = 0;

  constexpr int64_t length() const { return end - begin; }
  constexpr bool empty() const { return end <= begin; }
  constexpr bool contains(int64_t x) const { return begin <= x && x < end; }

  friend constexpr bool operator==(const Interval&, const Interval&) = default;
};

constexpr bool Overlap(const Interval& a, const Interval& b) {
  return a.begin < b.end && b.begin < a.end;
}

}  // namespace spillway

#endif  // SPILLWAY_BASE_INTERVAL_H_
