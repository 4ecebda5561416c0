// The list of all ops: one line per op in all_ops.cc, the only place to add
// one. The functions that return them are declared in graph/standard_ops.h and
// executor/standard_kernels.h.
#ifndef SPILLWAY_OPS_ALL_OPS_H_
#define SPILLWAY_OPS_ALL_OPS_H_

#include <string>

#include "absl/status/statusor.h"
#include "executor/kernel.h"
#include "executor/standard_kernels.h"  // IWYU pragma: export
#include "graph/standard_ops.h"         // IWYU pragma: export

namespace spillway {

// The libraries that the kernels for a kind of device call, with their
// versions: "oneDNN 2.6.3". Errors: UNAVAILABLE if they cannot be loaded.
absl::StatusOr<std::string> KernelLibraries(DeviceKind kind);

}  // namespace spillway

#endif  // SPILLWAY_OPS_ALL_OPS_H_
