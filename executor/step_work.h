// The work of one step of a plan, shared by all executors: its kernel run or
// copy, and the addresses of its buffers.
#ifndef SPILLWAY_EXECUTOR_STEP_WORK_H_
#define SPILLWAY_EXECUTOR_STEP_WORK_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/device/stream.h"
#include "executor/executor.h"
#include "executor/kernel.h"
#include "executor/plan/plan.h"
#include "executor/step_inputs.h"

namespace spillway {

// One node's kernel and its arguments. The stream runs it some time after it
// was issued; the arguments may change only after the step was synchronised.
class KernelTask final : public StreamTask {
 public:
  // Both are borrowed.
  KernelTask(Kernel& kernel, std::string_view node_name)
      : kernel_(kernel), node_name_(node_name) {}

  // Errors: those of the kernel, INTERNAL if it throws; with the node's name
  // prepended.
  absl::Status Run(void* native_stream) override;

  std::vector<void*> inputs;
  std::vector<void*> outputs;
  void* workspace = nullptr;
  uint64_t seed = 0;
  const int64_t* step = nullptr;
  Communicator* communicator = nullptr;

 private:
  Kernel& kernel_;
  const std::string_view node_name_;
};

// For a kCompute step: a task with room for the step's slots. Errors:
// UNIMPLEMENTED if no kernel was prepared.
absl::StatusOr<std::unique_ptr<KernelTask>> NewKernelTask(
    const ExecutorSpec& spec, const Step& step);

// The buffer's bytes in its arena, which now count as used.
void* UseBuffer(const ExecutorSpec& spec, BufferId id);

// Errors: FAILED_PRECONDITION for a missing feed.
absl::Status CheckAllFed(const ExecutorSpec& spec, const RunOptions& options);

// Issues the copy of a kFeed, kSwapOut or kSwapIn step to `stream`, and counts
// it (except the first copy of a feed).
absl::Status IssueCopy(const ExecutorSpec& spec, const Step& step,
                       const StepInputs& inputs, Stream& stream,
                       CopyCounts& copies);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_STEP_WORK_H_
