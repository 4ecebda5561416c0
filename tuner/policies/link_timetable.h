// LinkTimetable: when one direction of the link is taken by copies that were
// planned before.
//
//   taken     |----|      |-------|    |--|
//   first fit from t:   ^ t  |xx|            NextFree
//   last fit until t:              |x| ^ t   LastFree
#ifndef SPILLWAY_TUNER_POLICIES_LINK_TIMETABLE_H_
#define SPILLWAY_TUNER_POLICIES_LINK_TIMETABLE_H_

#include <algorithm>
#include <cstdint>
#include <map>

namespace spillway {

class LinkTimetable {
 public:
  // The earliest start, not before `from`, of `ns` (> 0) without a copy.
  int64_t NextFree(int64_t from, int64_t ns) const {
    int64_t start = from;
    for (const auto& [begin, end] : taken_) {
      if (begin >= start + ns) break;
      start = std::max(start, end);
    }
    return start;
  }

  // The latest start of `ns` (> 0) without a copy that end by `until`; may be
  // negative.
  int64_t LastFree(int64_t until, int64_t ns) const {
    int64_t end = until;
    for (auto it = taken_.rbegin(); it != taken_.rend(); ++it) {
      if (it->second <= end - ns) break;
      end = std::min(end, it->first);
    }
    return end - ns;
  }

  // The time must be free.
  void Take(int64_t start, int64_t ns) { taken_.emplace(start, start + ns); }

 private:
  std::map<int64_t, int64_t> taken_;  // start -> end, disjoint
};

}  // namespace spillway

#endif  // SPILLWAY_TUNER_POLICIES_LINK_TIMETABLE_H_
