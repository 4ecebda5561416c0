#include "ops/cpu/storage.h"

#include <fmt/format.h>

#include <span>

#include "base/status_macros.h"

namespace spillway {

absl::Status NoSuchStorage(const TensorType& type) {
  return Unimplemented(
      fmt::format("the CPU has no kernel for this node with a tensor of {}; it "
                  "computes in float32 and bfloat16",
                  type.ToString()));
}

absl::Status CheckStorage(const KernelRequest& node) {
  for (const std::span<const TensorType> types : {node.inputs, node.outputs}) {
    for (const TensorType& type : types) {
      if (type.dtype != DType::kFloat32 && type.dtype != DType::kBFloat16) {
        return NoSuchStorage(type);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace spillway
