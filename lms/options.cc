#include "lms/options.h"

#include "base/status_macros.h"
#include "fmt/format.h"
#include "lms/v2/options.h"

namespace spillway {
namespace {

absl::Status CheckCommonOptions(const LmsOptions& options) {
  if (options.size_threshold_bytes < 0) {
    return InvalidArgument(
        fmt::format("lms_size_threshold: {} bytes is negative; use 0 or more",
                    options.size_threshold_bytes));
  }
  if (options.debug_level < 0 || options.debug_level > 2) {
    return InvalidArgument(fmt::format("lms_debug_level: {} is not 0, 1 or 2",
                                       options.debug_level));
  }
  return absl::OkStatus();
}

// The original accepts any upper bound; one that is too small finds no trigger.
absl::Status CheckUpperBound(const LmsOptions& options) {
  const bool chain = options.v1.ctrld_strategy == ControlStrategy::kChainRule;
  const int64_t least_ub = options.v1.lb + (chain ? 1 : 2);
  if (options.compat || options.v1.ub >= least_ub) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "lms_ub: {} is too small; with lms_lb {} and {} use at least {}",
      options.v1.ub, options.v1.lb,
      ControlStrategyName(options.v1.ctrld_strategy), least_ub));
}

absl::Status CheckNoEmptyName(std::string_view option,
                              const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.empty()) {
      return InvalidArgument(
          fmt::format("{}: has an empty name; leave it out", option));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckV1Lists(const LmsOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(
      CheckNoEmptyName("lms_optimizer_scopes", options.v1.optimizer_scopes));
  SPILLWAY_RETURN_IF_ERROR(
      CheckNoEmptyName("lms_starting_op_names", options.v1.starting_op_names));
  SPILLWAY_RETURN_IF_ERROR(
      CheckNoEmptyName("lms_excl_scopes", options.v1.excl_scopes));
  SPILLWAY_RETURN_IF_ERROR(
      CheckNoEmptyName("lms_incl_scopes", options.v1.incl_scopes));
  SPILLWAY_RETURN_IF_ERROR(
      CheckNoEmptyName("lms_excl_types", options.v1.excl_types));
  return CheckNoEmptyName("lms_incl_types", options.v1.incl_types);
}

absl::Status CheckRecomputeOptions(const LmsOptions& options) {
  const RecomputeOptions& recompute = options.recompute;
  if (Recomputes(options) && options.compat) {
    return InvalidArgument(
        "lms_compat: excludes lms_recompute, since the original TFLMS "
        "recomputes nothing; leave one of the two out");
  }
  SPILLWAY_RETURN_IF_ERROR(
      CheckNoEmptyName("lms_recompute_excl_scopes", recompute.excl_scopes));
  return CheckNoEmptyName("lms_recompute_excl_types", recompute.excl_types);
}

absl::Status CheckV1Options(const LmsOptions& options) {
  const LmsV1Options& v1 = options.v1;
  if (v1.n_tensors < -1) {
    return InvalidArgument(
        fmt::format("lms_n_tensors: {} is not -1 (all), 0 (off) or positive",
                    v1.n_tensors));
  }
  if (v1.lb < 0) {
    return InvalidArgument(
        fmt::format("lms_lb: {} is negative; use 0 or more", v1.lb));
  }
  SPILLWAY_RETURN_IF_ERROR(CheckIsBelowMost("lms_n_tensors", v1.n_tensors));
  SPILLWAY_RETURN_IF_ERROR(CheckIsBelowMost("lms_lb", v1.lb));
  SPILLWAY_RETURN_IF_ERROR(CheckIsBelowMost("lms_ub", v1.ub));
  SPILLWAY_RETURN_IF_ERROR(
      CheckIsBelowMost("lms_branch_threshold", v1.branch_threshold));
  if (v1.branch_threshold < 0) {
    return InvalidArgument(
        fmt::format("lms_branch_threshold: {} is negative; use 0 or more",
                    v1.branch_threshold));
  }
  SPILLWAY_RETURN_IF_ERROR(CheckUpperBound(options));
  return CheckV1Lists(options);
}

}  // namespace

std::string_view LmsModeName(LmsMode mode) {
  switch (mode) {
    case LmsMode::kOff:
      return "off";
    case LmsMode::kAuto:
      return "auto";
    case LmsMode::kV1:
      return "v1";
    case LmsMode::kV2:
      return "v2";
  }
  return "off";
}

std::string_view RecomputePolicyName(RecomputePolicy policy) {
  switch (policy) {
    case RecomputePolicy::kOff:
      return "off";
    case RecomputePolicy::kCheap:
      return "cheap";
    case RecomputePolicy::kSqrt:
      return "sqrt";
    case RecomputePolicy::kAuto:
      return "auto";
  }
  return "off";
}

std::optional<RecomputePolicy> ParseRecomputePolicy(std::string_view name) {
  using enum RecomputePolicy;
  for (const RecomputePolicy policy : {kOff, kCheap, kSqrt, kAuto}) {
    if (name == RecomputePolicyName(policy)) return policy;
  }
  return std::nullopt;
}

bool Recomputes(const LmsOptions& options) {
  return options.recompute.policy == RecomputePolicy::kCheap ||
         options.recompute.policy == RecomputePolicy::kSqrt;
}

bool TunesRecomputation(const LmsOptions& options) {
  return options.mode == LmsMode::kAuto && !options.compat &&
         options.recompute.policy == RecomputePolicy::kAuto;
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

bool NeedsTuning(const LmsOptions& options) {
  return options.mode == LmsMode::kAuto ||
         (options.mode == LmsMode::kV2 &&
          (options.v2.swapout_threshold == -1 ||
           (!SyncsSwapIns(options) && (options.v2.swapin_ahead == -1 ||
                                       options.v2.swapin_groupby == -1))));
}

absl::Status CheckIsBelowMost(std::string_view name, int64_t value) {
  constexpr int64_t kMost = int64_t{1} << 62;
  if (value <= kMost && value >= -kMost) return absl::OkStatus();
  return InvalidArgument(fmt::format("{}: {} is more than 2^62", name, value));
}

absl::Status CheckRanges(const LmsOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(CheckCommonOptions(options));
  SPILLWAY_RETURN_IF_ERROR(CheckRecomputeOptions(options));
  if (options.mode != LmsMode::kV2) {
    SPILLWAY_RETURN_IF_ERROR(CheckV1Options(options));
  }
  return options.mode == LmsMode::kV2 || options.mode == LmsMode::kAuto
             ? CheckV2Options(options)
             : absl::OkStatus();
}

absl::Status CheckOptions(const LmsOptions& options) {
  SPILLWAY_RETURN_IF_ERROR(CheckRanges(options));
  if (options.mode == LmsMode::kAuto) {
    return InvalidArgument(
        "lms: auto leaves the choice to the tuner, which does not run here; "
        "use "
        "v1 or v2, or let spillway tune choose");
  }
  return options.mode == LmsMode::kV2 ? CheckV2NumbersAreGiven(options)
                                      : absl::OkStatus();
}

}  // namespace spillway
