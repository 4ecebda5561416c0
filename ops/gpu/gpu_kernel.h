// GPU kernels from functions that launch CUDA kernels (launch.h).
#ifndef SPILLWAY_OPS_GPU_GPU_KERNEL_H_
#define SPILLWAY_OPS_GPU_GPU_KERNEL_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/tensor_type.h"
#include "ops/common/function_kernel.h"
#include "ops/gpu/thread/launch.h"
#include "ops/op.h"

namespace spillway {

// INTERNAL with CUDA's message; OK for 0.
absl::Status LaunchStatus(gpu::LaunchError error);

// The number of this thread's current GPU.
absl::StatusOr<int> CurrentGpu();

// UNIMPLEMENTED unless the GPU's kernels support the type's dtype: float32,
// bfloat16 or float16.
absl::Status CheckGpuStorage(const TensorType& type);

// launch(const KernelContext&) returns a LaunchError; the context has the
// stream, and pointers to the GPU's memory. `workspace_bytes`: as
// Kernel::workspace_bytes.
template <typename Fn>
std::unique_ptr<Kernel> MakeGpuKernel(Fn launch, int64_t workspace_bytes = 0) {
  return MakeKernel(
      [launch = std::move(launch)](const KernelContext& context) {
        return LaunchStatus(launch(context));
      },
      workspace_bytes);
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_GPU_KERNEL_H_
