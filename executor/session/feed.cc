#include "executor/session/feed.h"

#include <fmt/format.h>

#include "base/status_macros.h"

namespace spillway {

Feed::Feed(const TensorView& tensor) : type_(tensor.type), data_(tensor.data) {}

Feed::Feed(const HostTensor& tensor)
    : Feed(TensorView{.type = tensor.type, .data = tensor.bytes.data()}) {
  bytes_ = static_cast<int64_t>(tensor.bytes.size());
}

absl::Status Feed::Check(const TensorType& needed) const {
  if (type_ && *type_ != needed) {
    return InvalidArgument(fmt::format("expected {}, got {}", needed.ToString(),
                                       type_->ToString()));
  }
  if (data() == nullptr) {
    return InvalidArgument(
        fmt::format("has no data; {} is needed", needed.ToString()));
  }
  if (!type_ &&
      (dtype_ != needed.dtype || num_elements_ != needed.num_elements())) {
    return InvalidArgument(
        fmt::format("expected {}, which is {} elements of {}, got {} of {}",
                    needed.ToString(), needed.num_elements(),
                    DTypeName(needed.dtype), num_elements_, DTypeName(dtype_)));
  }
  if (bytes_ && *bytes_ != needed.num_bytes()) {
    return InvalidArgument(fmt::format("{} needs {} bytes, the tensor has {}",
                                       needed.ToString(), needed.num_bytes(),
                                       *bytes_));
  }
  return absl::OkStatus();
}

}  // namespace spillway
