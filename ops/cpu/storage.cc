#include "ops/cpu/storage.h"

#include <fmt/format.h>

#include "base/status_macros.h"

namespace spillway {

absl::Status NoSuchStorage(const TensorType& type) {
  return Unimplemented(
      fmt::format("the CPU has no kernel for this node with a tensor of {}; it "
                  "computes in float32 and bfloat16",
                  type.ToString()));
}

}  // namespace spillway
