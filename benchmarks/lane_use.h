// How busy each lane was in one step, and how much copying compute hid.
#ifndef SPILLWAY_BENCHMARKS_LANE_USE_H_
#define SPILLWAY_BENCHMARKS_LANE_USE_H_

#include <array>
#include <cstdint>

#include "base/trace/timeline.h"
#include "executor/plan/plan.h"

namespace spillway {

struct LaneUse {
  int64_t step_ns = 0;                          // first begin to last end
  std::array<int64_t, kNumLanes> busy_ns = {};  // by lane
  int64_t copy_ns = 0;    // at least one copy lane is busy
  int64_t hidden_ns = 0;  // of this, while the compute lane is busy too

  // hidden_ns / copy_ns; 0 without copies.
  double hidden_part() const;
};

// `timeline` has one track a lane, as a session fills it.
LaneUse MeasureLanes(const Timeline& timeline);

}  // namespace spillway

#endif  // SPILLWAY_BENCHMARKS_LANE_USE_H_
