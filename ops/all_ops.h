// The list of every op: one line an op in all_ops.cc, and nowhere else. What it
// makes is declared in graph/standard_ops.h and executor/standard_kernels.h.
#ifndef SPILLWAY_OPS_ALL_OPS_H_
#define SPILLWAY_OPS_ALL_OPS_H_

#include <string>

#include "absl/status/statusor.h"
#include "executor/kernel.h"
#include "executor/standard_kernels.h"  // IWYU pragma: export
#include "graph/standard_ops.h"         // IWYU pragma: export

namespace spillway {

// The libraries that a kind of device's kernels call, with their versions:
// "oneDNN 2.6.3". Errors: UNAVAILABLE where they are not to be had.
absl::StatusOr<std::string> KernelLibraries(DeviceKind kind);

}  // namespace spillway

#endif  // SPILLWAY_OPS_ALL_OPS_H_
