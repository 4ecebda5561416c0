#include "executor/tensor.h"

#include <fmt/format.h>

#include "base/status_macros.h"

namespace spillway {

absl::Status HostTensor::CheckElements(DType dtype) const {
  if (type.dtype != dtype) {
    return InvalidArgument(
        fmt::format("the tensor is {}; its elements are {}, not {}",
                    type.ToString(), DTypeName(type.dtype), DTypeName(dtype)));
  }
  SPILLWAY_RETURN_IF_ERROR(CheckShape(type.shape));
  if (static_cast<int64_t>(bytes.size()) != type.num_bytes()) {
    return InvalidArgument(fmt::format("a tensor {} has {} bytes, not {}",
                                       type.ToString(), type.num_bytes(),
                                       bytes.size()));
  }
  return absl::OkStatus();
}

}  // namespace spillway
