// The inputs of a step from the host: its number and its feeds. If the host
// cannot write the device's memory, they are copied to pinned memory first:
// then copies to the device run concurrently with other work, and a captured
// step finds the new bytes at the old addresses. Otherwise feeds are read
// directly from the caller's memory.
#ifndef SPILLWAY_EXECUTOR_STEP_INPUTS_H_
#define SPILLWAY_EXECUTOR_STEP_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/status.h"
#include "executor/executor.h"
#include "graph/graph.h"

namespace spillway {

class StepInputs {
 public:
  StepInputs() = default;
  StepInputs(const StepInputs&) = delete;
  StepInputs& operator=(const StepInputs&) = delete;

  // Calls Device::Allocate at most once, for host memory.
  absl::Status Allocate(const ExecutorSpec& spec);

  // Sets the inputs of the next step. CheckAllFed must have passed, and no
  // stream may still be working on the previous step. Calls no
  // Device::Allocate. A feed that is already in its feed_buffer is not copied.
  void Set(const RunOptions& options);

  // The pinned copy of a fed Placeholder; null if it has none or is not fed.
  std::byte* feed_buffer(ValueId placeholder) const;

  // Always the same address.
  const int64_t* step() const { return step_; }
  // The address of the bytes of a fed Placeholder for this step.
  const void* feed(ValueId placeholder) const {
    return feeds_.at(placeholder).data;
  }

  // Allocated bytes.
  int64_t num_bytes() const { return memory_ ? memory_->num_bytes() : 0; }

 private:
  struct Feed {
    int64_t bytes = 0;
    std::byte* copy = nullptr;   // pinned; null: not needed
    const void* data = nullptr;  // of this step
  };

  std::unique_ptr<DeviceMemory> memory_;  // null: not needed
  HostThreads* host_threads_ = nullptr;
  int64_t unpinned_step_ = 0;
  int64_t* step_ = &unpinned_step_;
  std::map<ValueId, Feed> feeds_;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_STEP_INPUTS_H_
