// Bytes in use over the time of a simulated step.
//
//   step      p            o (copy out)
//   time   ---[====]--[==]-[========]---[..]-->
//             begin of p            end of o
//             |<---- owns its bytes ---->|
//
// A buffer owns its bytes from the beginning of the first step of its live
// range to the end of the last step that uses it; a fetched buffer, to the end
// of the training step. A step waits for the previous owner of its bytes, so
// two owners never share a byte, and the bytes in use never exceed the arena.
#ifndef SPILLWAY_SIMULATOR_MEMORY_OVER_TIME_H_
#define SPILLWAY_SIMULATOR_MEMORY_OVER_TIME_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/interval.h"
#include "base/trace/timeline.h"
#include "executor/plan/plan.h"
#include "simulator/simulator.h"

namespace spillway {

// Nanoseconds, by buffer. Residents own their bytes for the whole step. Empty
// for a buffer that no step uses, or that is used for no time. Cost: O(steps +
// buffers).
IdMap<BufferId, Interval> OwnedTimes(const ExecutionPlan& plan,
                                     const SimulatedStep& step);

std::string_view MemoryCounter(Space space);  // "device bytes", "host bytes"

// The owned bytes from each sample to the next: exact, not rounded up, and
// including the residents of other programs. The first sample is at 0;
// consecutive samples differ. `owned` is the result of OwnedTimes. Cost:
// O(buffers log buffers).
std::vector<CounterSample> MemoryOverTime(
    const ExecutionPlan& plan, const IdMap<BufferId, Interval>& owned,
    Space space);

// The first of the samples with the most bytes.
CounterSample PeakOf(const std::vector<CounterSample>& samples);

// Adds the samples of the device, and of the host if the plan uses host memory,
// to the timeline of `step`, so that traces show them.
void AddMemoryCounters(const ExecutionPlan& plan, SimulatedStep& step);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_MEMORY_OVER_TIME_H_
