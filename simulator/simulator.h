// Simulator: plays an ExecutionPlan, the very one that an executor runs, on a
// device profile, and says when each step would run.
//
// Each lane runs its steps in order. A step starts when its lane is free, the
// host has issued it, and every step it waits for is done. Copies of both
// directions slow each other down as the profile says. No clock, no thread:
// the same input gives the same result.
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

// Why the compute lane stood still before a step.
enum class StallCause : uint8_t {
  kCopyIn,   // what it reads is not on the device yet
  kCopyOut,  // its bytes are not free yet
  kIssue,    // the host had not issued it
};
inline constexpr int kNumStallCauses = 3;

// The compute lane stood still.
struct Stall {
  StepId step = {};  // of the compute lane, which then ran
  StallCause cause = StallCause::kIssue;
  StepId copy = {};  // that it got last; invalid for kIssue
  int64_t ns = 0;    // until `step` began
};

struct SimulatedStep {
  Timeline timeline = {};  // one track a lane, as an executor fills it
  int64_t step_ns = 0;
  std::array<int64_t, kNumLanes> busy_ns = {};
  std::array<int64_t, kNumStallCauses> stall_ns = {};  // of the compute lane
  IdMap<StepId, Interval> ran = {};  // ns; aliases take no time
  std::vector<Stall> stalls = {};    // in order of time
  // Of each copy: the stalls that end when it does. Their sums by lane are
  // those of stall_ns.
  IdMap<StepId, int64_t> charged_ns = {};
};

// `kernel_ns`: of each node (cost_model.h). The plan must have passed
// VerifyPlan. Cost: O(steps + waits).
SimulatedStep SimulateStep(const ExecutionPlan& plan, const Graph& graph,
                           const IdMap<NodeId, int64_t>& kernel_ns,
                           const DeviceProfile& profile);

}  // namespace spillway

#endif  // SPILLWAY_SIMULATOR_SIMULATOR_H_
