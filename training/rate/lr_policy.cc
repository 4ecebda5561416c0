#include "training/rate/lr_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "training/check_setting.h"

namespace spillway {
namespace {

// In the order of LrPolicyKind.
constexpr auto kPolicyNames = std::to_array<std::string_view>(
    {"constant", "linear", "cosine", "fixed", "step", "multifactor", "exp",
     "inv", "poly", "sigmoid", "piecewise"});

// Of step, exp and multifactor: a larger factor would raise the rate.
absl::Status CheckFactor(double gamma) {
  if (gamma > 0 && gamma <= 1) return absl::OkStatus();
  return setting::Refuse("gamma", gamma, "more than 0 and at most 1");
}

absl::Status CheckRising(std::string_view name,
                         const std::vector<int64_t>& items) {
  int64_t least = 1;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i] < least) {
      return InvalidArgument(fmt::format(
          "{}[{}] is {}; it must be {} or more{}", name, i, items[i], least,
          i == 0 ? "" : ", since each is larger than the one before"));
    }
    least = items[i] + 1;
  }
  return absl::OkStatus();
}

bool DecaysByUpdate(const LrPolicy& policy) {
  using enum LrPolicyKind;
  return policy.kind == kLinear || policy.kind == kCosine ||
         (policy.kind == kPoly && policy.max_update);
}

bool IsOfEpoch(const LrPolicy& policy) {
  using enum LrPolicyKind;
  switch (policy.kind) {
    case kStep:
    case kMultiFactor:
    case kExp:
    case kInv:
    case kSigmoid:
      return true;
    case kPoly:
      return !policy.max_update;
    default:
      return false;
  }
}

double PowerOf(const LrPolicy& policy) {
  return policy.power.value_or(DecaysByUpdate(policy) ? 2 : 0.75);
}

// The rate that a warm-up climbs to.
double BaseRate(const LrPolicy& policy) {
  return policy.kind == LrPolicyKind::kPiecewise ? policy.values.front()
                                                 : policy.rate;
}

absl::Status CheckPoly(const LrPolicy& policy) {
  SPILLWAY_RETURN_IF_ERROR(setting::CheckPositive("power", PowerOf(policy)));
  if (policy.gamma < 1) return absl::OkStatus();
  return setting::Refuse("gamma", policy.gamma,
                         "less than 1, since the rate decays");
}

absl::Status CheckPiecewise(const LrPolicy& policy) {
  SPILLWAY_RETURN_IF_ERROR(CheckRising("boundaries", policy.boundaries));
  if (policy.values.size() == policy.boundaries.size() + 1) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      fmt::format("values has {} items and boundaries has {}; there must be "
                  "one more value than boundaries",
                  policy.values.size(), policy.boundaries.size()));
}

absl::Status CheckKind(const LrPolicy& policy) {
  using enum LrPolicyKind;
  switch (policy.kind) {
    case kStep:
      SPILLWAY_RETURN_IF_ERROR(setting::CheckAtLeast("step", policy.step, 1));
      return CheckFactor(policy.gamma);
    case kExp:
      return CheckFactor(policy.gamma);
    case kMultiFactor:
      SPILLWAY_RETURN_IF_ERROR(CheckRising("step_epochs", policy.step_epochs));
      return CheckFactor(policy.gamma);
    case kInv:
      SPILLWAY_RETURN_IF_ERROR(
          setting::CheckNotNegative("gamma", policy.gamma));
      return setting::CheckPositive("power", PowerOf(policy));
    case kSigmoid:
      return setting::CheckAtLeast("step", policy.step, 0);
    case kPoly:
      return CheckPoly(policy);
    case kPiecewise:
      return CheckPiecewise(policy);
    default:
      return absl::OkStatus();
  }
}

// What no kind can have, whether it reads the field or not.
absl::Status CheckNumbers(const LrPolicy& policy) {
  SPILLWAY_RETURN_IF_ERROR(setting::CheckNotNegative("rate", policy.rate));
  SPILLWAY_RETURN_IF_ERROR(setting::CheckFinite("gamma", policy.gamma));
  SPILLWAY_RETURN_IF_ERROR(
      setting::CheckFinite("power", policy.power.value_or(1)));
  SPILLWAY_RETURN_IF_ERROR(
      setting::CheckNotNegative("final_rate", policy.final_rate));
  for (size_t i = 0; i < policy.values.size(); ++i) {
    SPILLWAY_RETURN_IF_ERROR(setting::CheckNotNegative(
        fmt::format("values[{}]", i), policy.values[i]));
  }
  if (policy.max_update) {
    SPILLWAY_RETURN_IF_ERROR(
        setting::CheckAtLeast("max_update", *policy.max_update, 1));
  }
  SPILLWAY_RETURN_IF_ERROR(
      setting::CheckAtLeast("warmup.steps", policy.warmup.steps, 0));
  return setting::CheckNotNegative("warmup.begin", policy.warmup.begin);
}

absl::Status CheckWarmUp(const LrPolicy& policy) {
  const double base = BaseRate(policy);
  if (policy.warmup.begin <= base) return absl::OkStatus();
  return setting::Refuse("warmup.begin", policy.warmup.begin,
                         fmt::format("at most the rate, {}", base));
}

absl::Status CheckDecay(const LrPolicy& policy, const LrContext& context) {
  if (!policy.max_update) {
    SPILLWAY_RETURN_IF_ERROR(
        setting::CheckAtLeast("updates of the training", context.updates, 1));
  }
  const int64_t last = policy.max_update.value_or(context.updates);
  if (policy.warmup.steps < last) return absl::OkStatus();
  return InvalidArgument(fmt::format(
      "warmup.steps is {}; it must be less than {}, {}", policy.warmup.steps,
      policy.max_update ? "max_update" : "the updates of the training", last));
}

absl::Status CheckContext(const LrPolicy& policy, const LrContext& context) {
  if (DecaysByUpdate(policy)) return CheckDecay(policy, context);
  if (!IsOfEpoch(policy)) return absl::OkStatus();
  if (!context.epoch_of) {
    return InvalidArgument("it needs the epoch of each update (epoch_of)");
  }
  if (policy.kind != LrPolicyKind::kPoly) return absl::OkStatus();
  return setting::CheckAtLeast("epochs of the training", context.epochs, 1);
}

absl::Status CheckPolicy(const LrPolicy& policy, const LrContext& context) {
  SPILLWAY_RETURN_IF_ERROR(CheckNumbers(policy));
  SPILLWAY_RETURN_IF_ERROR(CheckKind(policy));
  SPILLWAY_RETURN_IF_ERROR(CheckWarmUp(policy));
  return CheckContext(policy, context);
}

Decay UpdateDecay(const LrPolicy& policy, const LrContext& context) {
  return {.rate = policy.rate,
          .final_rate = policy.final_rate,
          .first_update = policy.warmup.steps,
          .last_update = policy.max_update.value_or(context.updates)};
}

Decay EpochDecay(const LrPolicy& policy, const LrContext& context) {
  return {.rate = policy.rate,
          .final_rate = policy.final_rate,
          .last_update = context.epochs};
}

// Of the epoch if IsOfEpoch, else of the update.
LrSchedule ScheduleOf(const LrPolicy& policy, const LrContext& context) {
  const double rate = policy.rate;
  using enum LrPolicyKind;
  switch (policy.kind) {
    case kConstant:
    case kFixed:
      return ConstantRate(rate);
    case kLinear:
      return PolynomialDecay(UpdateDecay(policy, context), 1);
    case kCosine:
      return CosineDecay(UpdateDecay(policy, context));
    case kStep:
      return StepDecay(rate, policy.gamma, policy.step);
    case kMultiFactor:
      return MultiFactor(rate, policy.gamma, policy.step_epochs);
    case kExp:
      return ExponentialDecay(rate, policy.gamma);
    case kInv:
      return InverseDecay(rate, policy.gamma, PowerOf(policy));
    case kPoly:
      return PolynomialDecay(policy.max_update ? UpdateDecay(policy, context)
                                               : EpochDecay(policy, context),
                             PowerOf(policy));
    case kSigmoid:
      return SigmoidDecay(rate, policy.gamma, policy.step);
    case kPiecewise:
      return PiecewiseRate(policy.boundaries, policy.values);
  }
  return nullptr;
}

}  // namespace

std::string_view LrPolicyKindName(LrPolicyKind kind) {
  return kPolicyNames[static_cast<size_t>(kind)];
}

absl::StatusOr<LrPolicyKind> ParseLrPolicyKind(std::string_view name) {
  const auto* const found = std::ranges::find(kPolicyNames, name);
  if (found != kPolicyNames.end()) {
    return static_cast<LrPolicyKind>(found - kPolicyNames.begin());
  }
  return InvalidArgument(
      fmt::format("there is no learning-rate policy '{}'; known: {}", name,
                  fmt::join(kPolicyNames, " ")));
}

absl::StatusOr<WarmUpMode> ParseWarmUpMode(std::string_view name) {
  if (name == "linear") return WarmUpMode::kLinear;
  if (name == "constant") return WarmUpMode::kConstant;
  return InvalidArgument(fmt::format(
      "there is no warm-up mode '{}'; known: linear constant", name));
}

absl::StatusOr<LrSchedule> MakeLrSchedule(const LrPolicy& policy,
                                          const LrContext& context) {
  SPILLWAY_RETURN_IF_ERROR(Annotate(
      CheckPolicy(policy, context),
      fmt::format("learning-rate policy {}", LrPolicyKindName(policy.kind))));
  LrSchedule schedule = ScheduleOf(policy, context);
  if (IsOfEpoch(policy)) {
    schedule = OfEpoch(std::move(schedule), context.epoch_of);
  }
  return WithWarmUp(std::move(schedule), BaseRate(policy), policy.warmup);
}

}  // namespace spillway
