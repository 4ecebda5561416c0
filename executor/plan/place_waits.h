// When each buffer's bytes are free again, and where the waits for copies go
// that make it so.
//
// Positions are places in the plan's step list. Two rules make disjoint
// lifetimes safe although lanes run beside each other:
//   - a copy waits for the last compute step issued before it;
//   - the bytes of a swapped-out buffer are free from position r on: the steps
//     from r up to and including the next compute step wait for the copy-out.
//
//   step      p    o         r              t   i    c
//   compute   x ---------+   wait ...       y        z
//   copy out       o ----|---^ done
//   copy in              |                      i ---^
//   device    [== value ===][..... free .....][== value ==]
//
// r is a choice: early frees bytes, late never stalls. It is put at the last
// position where the bytes are still free in time for the target.
#ifndef SPILLWAY_EXECUTOR_PLAN_PLACE_WAITS_H_
#define SPILLWAY_EXECUTOR_PLAN_PLACE_WAITS_H_

#include <cstdint>
#include <vector>

#include "base/interval.h"
#include "executor/plan/plan.h"

namespace spillway {

// Lifetime of a device buffer that is copied to the host.
struct SwappedBuffer {
  BufferId buffer = {};
  StepId copy_out = {};  // the last copy-out of these bytes
  int64_t earliest_end =
      0;  // first position after the copy and all direct uses
};

struct Lifetimes {
  // Half-open, by buffer; empty for residents.
  IdMap<BufferId, Interval> of = {};
  std::vector<SwappedBuffer> swapped = {};  // by copy_out
};

// Lifetimes from the steps' uses, each swapped buffer ending as early as can
// be. `fetched` buffers live to the end.
Lifetimes FindLifetimes(const IdMap<StepId, Step>& steps,
                        const IdMap<BufferId, Buffer>& buffers,
                        const IdMap<BufferId, bool>& fetched);

// Moves the ends of swapped buffers as late as the sum of live device bytes
// (aligned, residents apart) stays within `target_bytes` wherever it can.
// Earlier copy-outs are waited for first, since a lane's copies end in order.
void DelayWaits(const IdMap<StepId, Step>& steps,
                const IdMap<BufferId, Buffer>& buffers, int64_t target_bytes,
                Lifetimes& lifetimes);

// Fills Step::waits: data and control dependencies across lanes, the two rules
// above; what is implied by other waits and by lane order is left out.
void AddWaits(const std::vector<std::vector<StepId>>& dependencies,
              const Lifetimes& lifetimes, IdMap<StepId, Step>& steps);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_PLACE_WAITS_H_
