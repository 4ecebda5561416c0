#include "lms/options.h"

#include "base/status_macros.h"
#include "fmt/format.h"

namespace spillway {

std::string_view LmsModeName(LmsMode mode) {
  switch (mode) {
    case LmsMode::kOff:
      return "off";
    case LmsMode::kV1:
      return "v1";
    case LmsMode::kV2:
      return "v2";
  }
  return "off";
}

std::string_view ControlStrategyName(ControlStrategy strategy) {
  return strategy == ControlStrategy::kChainRule ? "chain_rule"
                                                 : "direct_order";
}

std::optional<ControlStrategy> ParseControlStrategy(std::string_view name) {
  if (name == "chain_rule") return ControlStrategy::kChainRule;
  if (name == "direct_order") return ControlStrategy::kDirectOrder;
  return std::nullopt;
}

absl::Status CheckOptions(const LmsOptions& options) {
  if (options.n_tensors < -1) {
    return InvalidArgument(fmt::format(
        "lms_n_tensors is {}; it must be -1 (all), 0 (off) or positive",
        options.n_tensors));
  }
  if (options.lb < 0) {
    return InvalidArgument(
        fmt::format("lms_lb is {}; it must not be negative", options.lb));
  }
  const bool chain = options.ctrld_strategy == ControlStrategy::kChainRule;
  const int64_t least_ub = options.lb + (chain ? 1 : 2);
  if (!options.compat && options.ub < least_ub) {
    return InvalidArgument(fmt::format(
        "lms_ub is {}; with lms_lb {} and {} it must be at least {}",
        options.ub, options.lb, ControlStrategyName(options.ctrld_strategy),
        least_ub));
  }
  if (options.size_threshold_bytes < 0) {
    return InvalidArgument("lms_size_threshold must not be negative");
  }
  return absl::OkStatus();
}

}  // namespace spillway
