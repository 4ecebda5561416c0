// The live bytes of a plan, step by step, and the reasons for them.
#ifndef SPILLWAY_EXECUTOR_PLAN_MEMORY_PROFILE_H_
#define SPILLWAY_EXECUTOR_PLAN_MEMORY_PROFILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "executor/plan/plan.h"
#include "graph/graph.h"

namespace spillway {

// A buffer that owns its bytes at a given step.
struct LiveBuffer {
  BufferId buffer = {};
  // Why the bytes are not free: "used by a/b (step 7)".
  std::string reason = {};
};

struct MemoryProfile {
  // By step: bytes of all buffers that own theirs (aligned, including
  // residents). The arena is as large as the largest of these, or larger if
  // buffers could not be packed without holes.
  IdMap<StepId, int64_t> live_bytes = {};
  StepId peak = {};  // the first step with the most; invalid without steps
  int64_t peak_bytes = 0;
  // The buffers that are live at the peak, largest first.
  std::vector<LiveBuffer> at_peak = {};
};

// Cost: O(steps + buffers log buffers).
MemoryProfile ProfileMemory(const ExecutionPlan& plan, const Graph& graph,
                            Space space);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_MEMORY_PROFILE_H_
