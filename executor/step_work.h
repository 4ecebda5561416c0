// The work of one step of a plan, for every executor: its kernel's run or its
// copy, and where its buffers lie.
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

// One node's kernel and what it is run with. The stream runs it after it was
// issued; it changes again only after the step was synchronised.
class KernelTask final : public StreamTask {
 public:
  // Both are borrowed.
  KernelTask(Kernel& kernel, std::string_view node_name)
      : kernel_(kernel), node_name_(node_name) {}

  // Errors: what the kernel says, INTERNAL if it throws; with the node's name
  // before it.
  absl::Status Run(void* native_stream) override;

  std::vector<void*> inputs;
  std::vector<void*> outputs;
  void* workspace = nullptr;
  uint64_t seed = 0;
  const int64_t* step = nullptr;

 private:
  Kernel& kernel_;
  const std::string_view node_name_;
};

// For a kCompute step: a task with room for the step's slots. Errors:
// UNIMPLEMENTED when no kernel was prepared.
absl::StatusOr<std::unique_ptr<KernelTask>> NewKernelTask(
    const ExecutorSpec& spec, const Step& step);

// The buffer's bytes in its arena, counted as used.
void* UseBuffer(const ExecutorSpec& spec, BufferId id);

// Errors: FAILED_PRECONDITION for a missing feed.
absl::Status CheckAllFed(const ExecutorSpec& spec, const RunOptions& options);

// Issues the copy of a kFeed, kSwapOut or kSwapIn step to `stream`, and counts
// it (but the first copy of a feed).
absl::Status IssueCopy(const ExecutorSpec& spec, const Step& step,
                       const StepInputs& inputs, Stream& stream,
                       CopyCounts& copies);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_STEP_WORK_H_
