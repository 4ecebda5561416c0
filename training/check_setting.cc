#include "training/check_setting.h"

#include <fmt/format.h>

#include <cmath>

#include "base/status_macros.h"

namespace spillway::setting {

absl::Status Refuse(std::string_view name, double value,
                    std::string_view legal) {
  return InvalidArgument(
      fmt::format("{} is {}; it must be {}", name, value, legal));
}

absl::Status CheckAtLeast(std::string_view name, int64_t value, int64_t least) {
  if (value >= least) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("{} is {}; it must be {} or more", name, value, least));
}

absl::Status CheckFinite(std::string_view name, double value) {
  if (std::isfinite(value)) return absl::OkStatus();
  return Refuse(name, value, "finite");
}

absl::Status CheckNotNegative(std::string_view name, double value) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return Refuse(name, value, "0 or more and finite");
}

absl::Status CheckPositive(std::string_view name, double value) {
  if (std::isfinite(value) && value > 0) return absl::OkStatus();
  return Refuse(name, value, "more than 0 and finite");
}

}  // namespace spillway::setting
