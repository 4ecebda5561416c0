#include "ops/common/activation.h"

#include <fmt/format.h>

#include <string>

#include "base/status_macros.h"

namespace spillway {

absl::StatusOr<bool> ReadRelu(const Attributes& attributes) {
  const absl::StatusOr<std::string> activation =
      attributes.GetString("activation", "none");
  SPILLWAY_RETURN_IF_ERROR(activation.status());
  if (*activation == "relu") return true;
  if (*activation == "none") return false;
  return InvalidArgument(fmt::format(
      "'activation' must be 'none' or 'relu'; it is '{}'", *activation));
}

}  // namespace spillway
