// Opening the libraries that kernels call, before memory is shared out.
#ifndef SPILLWAY_OPS_OPEN_LIBRARIES_H_
#define SPILLWAY_OPS_OPEN_LIBRARIES_H_

#include "absl/status/status.h"
#include "executor/kernel.h"

namespace spillway {

// Makes the handles that the kernels of a device of this kind work with, for
// the device that the calling thread used last. They take device memory: what
// is free is known only afterwards. Does nothing for the CPU, and nothing the
// second time. Errors: UNAVAILABLE where the libraries or the kernels are not
// to be had; what the libraries say.
absl::Status OpenKernelLibraries(DeviceKind kind);

}  // namespace spillway

#endif  // SPILLWAY_OPS_OPEN_LIBRARIES_H_
