// The executor behind --check_memory: finds kernels that access bytes outside
// their buffers, and plans whose buffers overlap while live, by inspecting the
// bytes.
//
// - Kernels run on separate buffers, outside the arenas and between fences
//   (fenced_buffers.h): inputs are copies, outputs and workspace are poison.
//   After the run the fences must be intact, and the inputs that the op may not
//   overwrite must be unchanged; the written buffers are copied to the arena.
//   Slots that share a buffer in the plan share it here too.
// - In the arenas, bytes without a live buffer are virgin or poison, and a live
//   buffer holds what the last permitted step wrote (checked_memory.h). This is
//   checked when a buffer begins or is read and, for all bytes, when the step
//   ends. The lifetime of a buffer follows from the order in which its steps
//   run, not from the planner's lifetimes.
// - Steps run one after another, in an extreme order that the plan allows:
//   copies as late as possible, and in every second step as early as possible
//   (serial_order.h). A missing wait shows as poison that is read or as a
//   buffer that begins on a live one.
//
// Kernels get the same numbers as without the check, so results are bitwise
// identical; a kernel that reads bytes that no step wrote computes NaNs.
//
// Needs host memory for the largest buffers of one kernel, allocated in Create.
// Cost of a step: its work, and O(bytes of all its buffers' uses + arenas).
#ifndef SPILLWAY_EXECUTOR_CHECKED_CHECKED_EXECUTOR_H_
#define SPILLWAY_EXECUTOR_CHECKED_CHECKED_EXECUTOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "executor/executor.h"

namespace spillway {

// `spec` must set checked_memory and ops. Errors: as Executor::Create. RunStep
// also returns INTERNAL for every fault that it finds, naming node, slot,
// buffer and the first wrong byte. The fetched buffers live until
// CheckedMemory::EndAll or the next step.
absl::StatusOr<std::unique_ptr<Executor>> NewCheckedExecutor(
    const ExecutorSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_CHECKED_CHECKED_EXECUTOR_H_
