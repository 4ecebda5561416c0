#include "ops/gpu/gpu_kernel.h"

#include <fmt/format.h>

#include <string>

#include "base/status_macros.h"
#include "ops/common/expect.h"

namespace spillway {

absl::Status LaunchStatus(gpu::LaunchError error) {
  if (error == 0) return absl::OkStatus();
  return Internal(fmt::format("CUDA kernel: {} (error {})",
                              gpu::LaunchErrorText(error), error));
}

absl::StatusOr<int> CurrentGpu() {
  int device = 0;
  SPILLWAY_RETURN_IF_ERROR(LaunchStatus(gpu::CurrentDevice(&device)));
  return device;
}

absl::Status CheckGpuStorage(const TensorType& type) {
  if (IsFloating(type.dtype)) return absl::OkStatus();
  return Unimplemented(
      fmt::format("the GPU has no kernel for this node with a tensor of {}; it "
                  "computes in float32, bfloat16 and float16",
                  type.ToString()));
}

}  // namespace spillway
