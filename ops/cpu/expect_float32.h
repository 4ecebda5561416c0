// The one dtype that most CPU kernels compute in.
#ifndef SPILLWAY_OPS_CPU_EXPECT_FLOAT32_H_
#define SPILLWAY_OPS_CPU_EXPECT_FLOAT32_H_

#include "absl/status/status.h"
#include "executor/kernel.h"

namespace spillway {

// UNIMPLEMENTED if an input or output is bfloat16 or float16.
absl::Status ExpectFloat32Kernel(const KernelRequest& node);

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_EXPECT_FLOAT32_H_
