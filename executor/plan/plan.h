// ExecutionPlan: a training step as data: what runs in which order on which
// lane, which steps wait for which, and the offset of every buffer. Planner,
// simulator and executor share it. It holds no pointers, and no decision is
// left to run time.
//
//   bytes
//     ^   +--------------------------+        device arena of device_bytes;
//     |   | activation a |  act. c   |        transient buffers share bytes
//     |   +-------+------+-----------+        when their uses are ordered
//     |   | scratch      | gradient  |
//     |   +--------------+-----------+
//     |   | variables, constants     |        resident: from 0 upwards
//     +---+--------------------------+--> steps
//
// The host arena of host_bytes is divided in the same way.
#ifndef SPILLWAY_EXECUTOR_PLAN_PLAN_H_
#define SPILLWAY_EXECUTOR_PLAN_PLAN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/interval.h"
#include "graph/node.h"

namespace spillway {

using StepId = StrongId<struct StepTag>;
using BufferId = StrongId<struct BufferTag>;

// A queue whose steps run in order, concurrently with the other lanes.
enum class Lane : uint8_t {
  kCompute,
  kCopyOut,
  kCopyIn,
  kHost,
  kCommunication,
};
inline constexpr int kNumLanes = 5;
// "compute", "copy out", "copy in", "host", "communication"
std::string_view LaneName(Lane lane);

enum class Space : uint8_t { kDevice, kHost };

enum class BufferKind : uint8_t {
  kVariable,   // resident, keeps its bytes between steps
  kConstant,   // resident, written once
  kTransient,  // activations, gradients, feeds: written in every step
  kWorkspace,  // scratch of one kernel run
};

// A run of bytes. All values of one alias class have the same buffer.
struct Buffer {
  std::string name = {};  // "conv1/Conv2D:0", or "conv1/Conv2D workspace"
  BufferKind kind = BufferKind::kTransient;
  Space space = Space::kDevice;
  int64_t offset = 0;  // in its space; a multiple of kBufferAlignment
  int64_t bytes = 0;   // exact, not rounded up
  // Steps during which this buffer owns the bytes: from its first use to its
  // last, or to the step that waits for its last copy. Empty for residents,
  // which always own theirs. For reports; the execution is ordered by
  // Step::waits.
  Interval live = {};
};

// Whether the buffer outlives a step; it lies below all buffers that do not.
inline bool IsResident(const Buffer& buffer) {
  return buffer.kind == BufferKind::kVariable ||
         buffer.kind == BufferKind::kConstant;
}

inline constexpr int64_t kBufferAlignment = 256;

enum class StepKind : uint8_t {
  kCompute,  // runs the node's kernel: on the host lane if it is placed there,
             // on the communication lane if it is a collective
  kAlias,    // Identity, Reshape: a no-op, the bytes exist already
  kFeed,     // copies `feed` from the caller to outputs[0] (device)
  kSwapOut,  // copies inputs[0] (device) to outputs[0] (host)
  kSwapIn,   // copies inputs[0] (host) to outputs[0] (device)
};

// Whether the step moves bytes and runs no node's kernel.
inline bool IsCopy(StepKind kind) {
  return kind != StepKind::kCompute && kind != StepKind::kAlias;
}

struct Step {
  NodeId node = {};
  StepKind kind = StepKind::kCompute;
  Lane lane = Lane::kCompute;
  std::vector<BufferId> inputs = {};   // slot by slot
  std::vector<BufferId> outputs = {};  // slot by slot
  BufferId workspace = {};             // invalid: none
  // Of a kFeed: the Placeholder's output. The SwapIn of a feed is also a kFeed,
  // since the caller still has the bytes (graph/feeds.h); its SwapOut has no
  // step.
  ValueId feed = {};
  // Steps of other lanes that must be done before this step starts, ascending.
  // Steps of one lane run in order and need no wait.
  std::vector<StepId> waits = {};
};

struct ExecutionPlan {
  IdMap<StepId, Step> steps = {};  // in the order in which the host issues them
  IdMap<BufferId, Buffer> buffers = {};
  // Buffer of each value; invalid for values that the plan does not compute.
  IdMap<ValueId, BufferId> buffer_of = {};
  std::vector<ValueId> fetches = {};  // kept until the step ends

  // Swap-ins that were moved right before their reader to meet the budget,
  // without prefetch.
  int64_t delayed_swap_ins = 0;

  int64_t device_bytes = 0;    // size of the arena: last byte of any buffer
  int64_t host_bytes = 0;      // size of the host swap pool
  int64_t resident_bytes = 0;  // the part below this offset is resident
  int64_t host_resident_bytes = 0;  // the same in the host's pool

  // Lower bound for every placement in this order: the largest sum of bytes
  // that must be live at one step (aligned), including residents.
  int64_t device_lower_bound_bytes = 0;
  int64_t host_lower_bound_bytes = 0;
};

inline int64_t ResidentBytes(const ExecutionPlan& plan, Space space) {
  return space == Space::kDevice ? plan.resident_bytes
                                 : plan.host_resident_bytes;
}

// The names of the lanes, to the last one on which something runs, but at least
// of the first three.
std::vector<std::string> UsedLanes(const ExecutionPlan& plan);

// A step that brings back a feed, which an earlier step has fed.
inline bool IsFedAgain(const ExecutionPlan& plan, const Step& step) {
  return step.kind == StepKind::kFeed &&
         plan.buffer_of[step.feed] != step.outputs[0];
}

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PLAN_PLAN_H_
