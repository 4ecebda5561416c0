// When each buffer owns its bytes, as indices in the plan's step list.
//
//   step      p    o         r              t   i    c
//   compute   x -----------> reuse ...      y        z
//   copy out       o ----|---^ done
//   copy in              |                      i ---^
//   device    [== value ===][..... free .....][== value ==]
//
// Buffers whose lifetimes do not overlap may share bytes: the step that takes
// bytes over waits for the steps that used them before (place_waits.h). For a
// buffer that a copy reads, that wait may stall: its lifetime could end at
// `soonest`, right after the copy was issued, but it never stalls only if it
// ends after the copy is known to be done. A collective is a copy in this
// sense, with its inputs and its workspace. So the end r is a choice: an early
// end frees the bytes sooner; a late end never stalls compute. DelayEnds
// chooses the last place at which the live bytes still meet the target.
#ifndef SPILLWAY_EXECUTOR_PLAN_LIFETIMES_H_
#define SPILLWAY_EXECUTOR_PLAN_LIFETIMES_H_

#include <cstdint>
#include <vector>

#include "base/interval.h"
#include "executor/plan/plan.h"

namespace spillway {

// A buffer that a copy or a collective uses: its lifetime may end anywhere in
// [soonest, latest].
struct DelayableEnd {
  BufferId buffer = {};
  StepId copy = {};  // the last copy of these bytes
  int64_t soonest = 0;
  int64_t latest = 0;  // a later end gains nothing
};

struct Lifetimes {
  // Half-open, by buffer; empty for residents.
  IdMap<BufferId, Interval> of = {};
  std::vector<DelayableEnd> delayable = {};  // by copy
};

// Lifetimes from the steps' uses, with every delayable end at its soonest.
// Fetched buffers live to the end of the step.
Lifetimes FindLifetimes(const ExecutionPlan& plan);

// For a step without a budget: what a collective uses keeps its bytes until the
// second collective after it is issued, if they are not known to be free
// before. So a kernel that takes them over waits only where the network is that
// far behind. These ends are no longer delayable.
void KeepForCollectives(const ExecutionPlan& plan, Lifetimes& lifetimes);

// Moves the delayable ends of `space` as late as possible while the sum of live
// bytes (aligned, without residents) stays within `target_bytes`, if it can.
// The earliest copies end first, since the copies of a lane end in order.
// Cost: O(buffers log buffers).
void DelayEnds(const ExecutionPlan& plan, Space space, int64_t target_bytes,
               Lifetimes& lifetimes);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_LIFETIMES_H_
