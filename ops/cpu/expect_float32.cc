#include "ops/cpu/expect_float32.h"

#include <fmt/format.h>

#include <span>

#include "base/status_macros.h"

namespace spillway {
namespace {

absl::Status RefuseHalf(std::span<const TensorType> types) {
  for (const TensorType& type : types) {
    if (type.dtype == DType::kBFloat16 || type.dtype == DType::kFloat16) {
      return Unimplemented(
          fmt::format("the CPU kernel computes in float32 only; a tensor here "
                      "is {}",
                      type.ToString()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExpectFloat32Kernel(const KernelRequest& node) {
  RETURN_IF_ERROR(RefuseHalf(node.inputs));
  return RefuseHalf(node.outputs);
}

}  // namespace spillway
