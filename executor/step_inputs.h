// What the host gives a step: its number and its feeds. Where the host cannot
// write the device's memory they are copied to pinned memory first: copies to
// the device then run beside other work, and a captured step finds the new
// bytes where it found the old ones. Elsewhere feeds are read where they lie.
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

  // At most one Device::Allocate, of host memory.
  absl::Status Allocate(const ExecutorSpec& spec);

  // Takes what the step gets; CheckAllFed has passed, and no stream works on
  // the step before. No Device::Allocate. A feed that lies in its feed_buffer
  // is not copied.
  void Set(const RunOptions& options);

  // Where the pinned copy of a fed Placeholder lies; null: there is none, or
  // `placeholder` is not fed.
  std::byte* feed_buffer(ValueId placeholder) const;

  // Always the same memory.
  const int64_t* step() const { return step_; }
  // Where the bytes of a fed Placeholder lie for this step.
  const void* feed(ValueId placeholder) const {
    return feeds_.at(placeholder).data;
  }

  // Allocated.
  int64_t num_bytes() const { return memory_ ? memory_->num_bytes() : 0; }

 private:
  struct Feed {
    int64_t bytes = 0;
    std::byte* copy = nullptr;   // pinned; null: none is needed
    const void* data = nullptr;  // of this step
  };

  std::unique_ptr<DeviceMemory> memory_;  // null: none is needed
  HostThreads* host_threads_ = nullptr;
  int64_t unpinned_step_ = 0;
  int64_t* step_ = &unpinned_step_;
  std::map<ValueId, Feed> feeds_;
};

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_STEP_INPUTS_H_
