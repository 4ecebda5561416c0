// Opens the libraries that kernels call, before memory is planned.
#ifndef SPILLWAY_OPS_OPEN_LIBRARIES_H_
#define SPILLWAY_OPS_OPEN_LIBRARIES_H_

#include "absl/status/status.h"
#include "executor/kernel.h"

namespace spillway {

// Makes the handles that the kernels for this kind of device need, for the
// calling thread's current device. They take device memory, so the free memory
// is known only afterwards. A no-op for the CPU, and in later calls. Errors:
// UNAVAILABLE if the libraries or the kernels are missing; errors of the
// libraries.
absl::Status OpenKernelLibraries(DeviceKind kind);

}  // namespace spillway

#endif  // SPILLWAY_OPS_OPEN_LIBRARIES_H_
