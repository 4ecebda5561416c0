// Executor: runs an ExecutionPlan on a device's streams.
//
// Each lane has one stream. A step of the plan becomes: wait for the events of
// its waits, run or copy, and record an event if a later step of another lane
// waits for it. Create makes all objects; RunStep allocates no tensor.
// Threads: one caller at a time.
#ifndef SPILLWAY_EXECUTOR_EXECUTOR_H_
#define SPILLWAY_EXECUTOR_EXECUTOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/trace/timeline.h"
#include "executor/arena.h"
#include "executor/device/device.h"
#include "executor/kernel_registry.h"
#include "executor/plan/plan.h"
#include "executor/tensor.h"
#include "graph/graph.h"
#include "graph/op_registry.h"

namespace spillway {

class CheckedMemory;
class Communicator;
class HostThreads;

// All pointers are borrowed for the lifetime of the executor. The arenas hold
// at least the plan's device_bytes and host_bytes.
struct ExecutorSpec {
  const Graph* graph = nullptr;
  const ExecutionPlan* plan = nullptr;
  const KernelMap* kernels = nullptr;
  Device* device = nullptr;
  Arena* device_arena = nullptr;
  Arena* host_arena = nullptr;

  // For large feeds that are copied to pinned memory; null: the caller's thread
  // alone.
  HostThreads* host_threads = nullptr;

  // The memory of both arenas, if every access is to be checked
  // (executor/checked/checked_executor.h). Null, the usual case: no checks.
  CheckedMemory* checked_memory = nullptr;
  const OpRegistry* ops = nullptr;  // for checks: what kernels may overwrite

  // For collectives; null: a graph has none.
  Communicator* communicator = nullptr;

  // Steps are launched as one piece of captured work (device/stream.h). The
  // first step is issued piece by piece, so that libraries are set up; the
  // second is captured. A step with a timeline is issued piece by piece too.
  // All steps must have the same seed.
  bool capture_steps = false;
};

struct RunOptions {
  // Bytes of each fed Placeholder value, exactly its size; borrowed until
  // RunStep returns.
  std::map<ValueId, const void*> feeds = {};
  uint64_t seed = 0;
  int64_t step = 0;
  Timeline* timeline = nullptr;  // filled if not null; costs timing events
};

struct CopyCounts {
  int64_t swap_outs = 0;
  int64_t swap_ins = 0;
  int64_t out_bytes = 0;
  int64_t in_bytes = 0;
  // SwapIns of feeds, which copy from the caller (graph/feeds.h).
  int64_t fed_again = 0;
  int64_t fed_again_bytes = 0;

  CopyCounts& operator+=(const CopyCounts& other);
};

class Executor {
 public:
  virtual ~Executor() = default;

  // The plan must have passed VerifyPlan. Errors: UNIMPLEMENTED for
  // capture_steps on a device without captures; FAILED_PRECONDITION for
  // collectives without a communicator; errors of the device.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(
      const ExecutorSpec& spec);

  // Runs one step and waits for it. Errors: FAILED_PRECONDITION for a missing
  // feed; errors of a kernel, with its node's name prepended.
  virtual absl::Status RunStep(const RunOptions& options) = 0;

  // Copies of all steps so far, counted when they are issued.
  virtual const CopyCounts& copies() const = 0;

  // Host memory for the step number and feeds of steps (step_inputs.h), in
  // addition to the plan's host_bytes.
  virtual int64_t staging_bytes() const = 0;

  // As Session::FeedBuffer.
  virtual std::byte* feed_buffer(ValueId placeholder) const = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_EXECUTOR_H_
