#include "ops/common/activation.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/status_macros.h"

namespace spillway {
namespace {

absl::Status UnknownActivation(std::string_view known,
                               std::string_view activation) {
  return InvalidArgument(
      fmt::format("'activation' must be {}; it is '{}'", known, activation));
}

}  // namespace

absl::StatusOr<FusedActivation> ReadActivation(const Attributes& attributes) {
  const absl::StatusOr<std::string> activation =
      attributes.GetString("activation", "none");
  SPILLWAY_RETURN_IF_ERROR(activation.status());
  if (*activation == "none") return FusedActivation::kNone;
  if (*activation == "relu") return FusedActivation::kRelu;
  if (*activation == "relu6") return FusedActivation::kRelu6;
  return UnknownActivation("'none', 'relu' or 'relu6'", *activation);
}

absl::StatusOr<bool> ReadRelu(const Attributes& attributes) {
  const absl::StatusOr<std::string> activation =
      attributes.GetString("activation", "none");
  SPILLWAY_RETURN_IF_ERROR(activation.status());
  if (*activation == "relu") return true;
  if (*activation == "none") return false;
  return UnknownActivation("'none' or 'relu'", *activation);
}

}  // namespace spillway
