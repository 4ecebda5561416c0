#include "ops/gpu/gpu_kernel.h"

#include <fmt/format.h>

#include <string>

#include "base/status_macros.h"

namespace spillway {

absl::Status LaunchStatus(gpu::LaunchError error) {
  if (error == 0) return absl::OkStatus();
  return Internal(fmt::format("CUDA kernel: {} (error {})",
                              gpu::LaunchErrorText(error), error));
}

absl::Status CheckGpuStorage(const TensorType& type) {
  if (type.dtype == DType::kFloat32 || type.dtype == DType::kBFloat16) {
    return absl::OkStatus();
  }
  return Unimplemented(
      fmt::format("the GPU has no kernel for this node with a tensor of {}; it "
                  "computes in float32 and bfloat16",
                  type.ToString()));
}

}  // namespace spillway
