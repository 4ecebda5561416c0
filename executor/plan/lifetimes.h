// When each buffer owns its bytes, in places of the plan's step list.
//
//   step      p    o         r              t   i    c
//   compute   x -----------> reuse ...      y        z
//   copy out       o ----|---^ done
//   copy in              |                      i ---^
//   device    [== value ===][..... free .....][== value ==]
//
// Lifetimes that do not overlap may share bytes: the step that takes bytes over
// waits for the steps that used them before (place_waits.h). For a buffer that
// a copy reads, that wait may stall: its lifetime could end at `soonest`, right
// after the copy was issued, but it costs nothing only once the copy is surely
// done. So its end r is a choice: early frees bytes, late never stalls. It is
// put at the last place where the bytes are still free in time for the target.
#ifndef SPILLWAY_EXECUTOR_PLAN_LIFETIMES_H_
#define SPILLWAY_EXECUTOR_PLAN_LIFETIMES_H_

#include <cstdint>
#include <vector>

#include "base/interval.h"
#include "executor/plan/plan.h"

namespace spillway {

// A buffer that a copy reads: its lifetime may end anywhere in
// [soonest, latest].
struct DelayableEnd {
  BufferId buffer = {};
  StepId copy = {};  // the last copy of these bytes
  int64_t soonest = 0;
  int64_t latest = 0;  // after that nothing is gained
};

struct Lifetimes {
  // Half-open, by buffer; empty for residents.
  IdMap<BufferId, Interval> of = {};
  std::vector<DelayableEnd> delayable = {};  // by copy
};

// Lifetimes from the steps' uses, every delayable end at its soonest. Fetched
// buffers live to the end of the step.
Lifetimes FindLifetimes(const ExecutionPlan& plan);

// Moves the delayable ends of `space` as late as the sum of live bytes
// (aligned, residents apart) stays within `target_bytes` wherever it can.
// Earlier copies are waited for first, since a lane's copies end in order.
// Cost: O(buffers log buffers).
void DelayEnds(const ExecutionPlan& plan, Space space, int64_t target_bytes,
               Lifetimes& lifetimes);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_LIFETIMES_H_
