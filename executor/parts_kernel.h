// Kernels of nodes that may read parts of values (graph/parts.h).
#ifndef SPILLWAY_EXECUTOR_PARTS_KERNEL_H_
#define SPILLWAY_EXECUTOR_PARTS_KERNEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "executor/kernel.h"
#include "graph/op_def.h"

namespace spillway {

// Prepares a kernel by `factory` for a node whose inputs have the types of its
// values. Of the parts that it reads, the kernel sees the types. If `slice`,
// the factory of Slice, is not null, they are copied to the workspace before
// each run; else the kernel reads them where they lie. Errors: INVALID_ARGUMENT
// for parts that are not legal; errors of the factories.
absl::StatusOr<std::unique_ptr<Kernel>> PrepareFromFactory(
    const OpDef& op, KernelRequest node, KernelFactory factory,
    KernelFactory slice);

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_PARTS_KERNEL_H_
