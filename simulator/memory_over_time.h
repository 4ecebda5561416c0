// Bytes in use over the time of a simulated step.
//
//   step      p            o (copy out)
//   time   ---[====]--[==]-[========]---[..]-->
//             begin of p            end of o
//             |<---- owns its bytes ---->|
//
// A buffer owns its bytes from the begin of the first step of its life to the
// end of the last step that uses them; fetched ones to the end of the step.
// Steps wait for the previous owner of their bytes, so at no time do two owners
// share a byte, and what is in use never exceeds the arena.
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

// In ns, by buffer. Residents: the whole step. Empty where nothing uses it, or
// for no time. Cost: O(steps + buffers).
IdMap<BufferId, Interval> OwnedTimes(const ExecutionPlan& plan,
                                     const SimulatedStep& step);

std::string_view MemoryCounter(Space space);  // "device bytes", "host bytes"

// The bytes owned (exact, not rounded up; residents of other programs too) from
// each sample to the next. The first is at 0; two that follow each other
// differ. `owned` is OwnedTimes. Cost: O(buffers log buffers).
std::vector<CounterSample> MemoryOverTime(
    const ExecutionPlan& plan, const IdMap<BufferId, Interval>& owned,
    Space space);

// The first sample with the most bytes.
CounterSample PeakOf(const std::vector<CounterSample>& samples);

// Adds the device's samples to the timeline of `step`, and the host's where the
// plan uses its memory, so that traces show them.
void AddMemoryCounters(const ExecutionPlan& plan, SimulatedStep& step);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_MEMORY_OVER_TIME_H_
