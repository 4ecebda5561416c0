// Simulator: plays an ExecutionPlan, the same one that an executor runs, on a
// device profile, and predicts when each step runs.
//
// Each lane runs its steps in order. A step starts when its lane is free, the
// host has issued it, and every step it waits for has ended. Copies in opposite
// directions slow each other down as the profile says. A collective is a kernel
// of the communication lane; if the profile's network is staged, it is
//
//   copy to the host | network | copy to the device
//
// whose copies share the link with swaps: two of the same direction have half
// of its rate each. Deterministic: uses no clock and no thread.
#ifndef SPILLWAY_SIMULATOR_SIMULATOR_H_
#define SPILLWAY_SIMULATOR_SIMULATOR_H_

#include <array>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/interval.h"
#include "base/trace/timeline.h"
#include "executor/plan/plan.h"
#include "graph/graph.h"
#include "simulator/device_profile.h"

namespace spillway {

// Why the compute lane was idle before a step.
enum class StallCause : uint8_t {
  kCopyIn,   // its input is not on the device yet
  kCopyOut,  // the bytes that it needs are not free yet, or a node on the host
             // has not run
  kIssue,    // the host has not issued it yet
  kCommunication,  // a collective has not ended
};
inline constexpr int kNumStallCauses = 4;

// An interval in which the compute lane was idle.
struct Stall {
  StepId step = {};  // of the compute lane: the step that ran next
  StallCause cause = StallCause::kIssue;
  StepId copy = {};  // the last copy that it waited for; invalid for kIssue
  int64_t ns = 0;    // until `step` began
};

struct SimulatedStep {
  Timeline timeline = {};  // one track per lane, as an executor fills it
  int64_t step_ns = 0;
  std::array<int64_t, kNumLanes> busy_ns = {};
  std::array<int64_t, kNumStallCauses> stall_ns = {};  // of the compute lane
  IdMap<StepId, Interval> ran = {};  // ns; aliases take no time
  std::vector<Stall> stalls = {};    // in order of time
  // Of each copy: the sum of the stalls that its end resolved. The sums by lane
  // equal stall_ns.
  IdMap<StepId, int64_t> charged_ns = {};
};

// `kernel_ns` has the time of each node (cost_model.h). The plan must have
// passed VerifyPlan. Cost: O(steps + waits).
SimulatedStep SimulateStep(const ExecutionPlan& plan, const Graph& graph,
                           const IdMap<NodeId, int64_t>& kernel_ns,
                           const DeviceProfile& profile);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_SIMULATOR_H_
