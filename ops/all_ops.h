// The list of every op: one line an op in all_ops.cc, and nowhere else.
#ifndef SPILLWAY_OPS_ALL_OPS_H_
#define SPILLWAY_OPS_ALL_OPS_H_

#include <string>

#include "absl/status/statusor.h"
#include "executor/kernel_registry.h"
#include "graph/op_registry.h"

namespace spillway {

// Schemas and kernels of all ops, built on first use and then constant.
const OpRegistry& StandardOps();
const KernelRegistry& StandardKernels();

// The libraries that a kind of device's kernels call, with their versions:
// "oneDNN 2.6.3". Errors: UNAVAILABLE where they are not to be had.
absl::StatusOr<std::string> KernelLibraries(DeviceKind kind);

}  // namespace spillway

#endif  // SPILLWAY_OPS_ALL_OPS_H_
