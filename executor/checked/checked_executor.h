// The executor behind --check_memory: finds kernels that touch what is not
// theirs, and plans whose buffers meet, by looking at the bytes.
//
// - Kernels run on buffers of their own, outside the arenas and between fences
//   (fenced_buffers.h): inputs are copies, outputs and workspace poison. Then
//   the fences must be whole and the inputs that the op may not overwrite
//   unchanged; what it wrote is copied to the arena. Slots that share a buffer
//   share it there too.
// - In the arenas, bytes without a live buffer are virgin or poison, and a live
//   buffer holds what was written last by a step that may (checked_memory.h).
//   This is looked at when a buffer is born or read and, for all bytes, when
//   the step ends. When a buffer lives follows from the order in which its
//   steps run, not from the planner's lifetimes.
// - Steps run one after another, in an order that the plan allows but nobody
//   would choose: copies as late as can be, in every second step as early
//   (serial_order.h). A wait that is missing shows as poison that is read or as
//   a buffer born on a live one.
//
// Kernels get the same numbers as without, so results are bitwise the same; a
// kernel that reads what it did not write computes NaNs.
//
// Needs host memory for the largest buffers of one kernel, allocated in Create.
// Cost of a step: its work, and O(bytes of all its buffers' uses + arenas).
#ifndef SPILLWAY_EXECUTOR_CHECKED_CHECKED_EXECUTOR_H_
#define SPILLWAY_EXECUTOR_CHECKED_CHECKED_EXECUTOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "executor/executor.h"

namespace spillway {

// `spec` has checked_memory and ops. Errors: as Executor::Create. RunStep also
// gives INTERNAL for what it finds, naming node, slot, buffer and the first
// wrong byte; the fetched buffers live until the CheckedMemory's EndAll or the
// next step.
absl::StatusOr<std::unique_ptr<Executor>> NewCheckedExecutor(
    const ExecutorSpec& spec);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_CHECKED_CHECKED_EXECUTOR_H_
