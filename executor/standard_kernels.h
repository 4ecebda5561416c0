// The kernels of this library, declared here for code that creates sessions.
// Defined in ops/all_ops.cc: link spillway::ops to use them.
#ifndef SPILLWAY_EXECUTOR_STANDARD_KERNELS_H_
#define SPILLWAY_EXECUTOR_STANDARD_KERNELS_H_

#include "executor/kernel_registry.h"

namespace spillway {

// The kernels of all ops of ops/, built on first use and constant afterwards.
const KernelRegistry& StandardKernels();

}  // namespace spillway

#endif  // SPILLWAY_EXECUTOR_STANDARD_KERNELS_H_
