#include "training/variable_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/status_macros.h"

namespace spillway {
namespace {

bool IsOrIsIn(std::string_view variable, std::string_view name) {
  return variable.starts_with(name) &&
         (variable.size() == name.size() || variable[name.size()] == '/');
}

std::string_view LastPart(std::string_view name) {
  return name.substr(name.rfind('/') + 1);  // npos + 1 is 0
}

bool HasNameOf(const DecayRule& rule, std::string_view variable) {
  return std::ranges::count(rule.names, LastPart(variable)) > 0;
}

absl::Status CheckMultiplier(const VariableMultiplier& multiplier,
                             std::span<const std::string> variables) {
  SPILLWAY_RETURN_IF_ERROR(CheckNotNegative(
      multiplier.rate,
      fmt::format("multiplier of the rate of '{}'", multiplier.name)));
  SPILLWAY_RETURN_IF_ERROR(CheckNotNegative(
      multiplier.decay,
      fmt::format("multiplier of the decay of '{}'", multiplier.name)));
  const auto fits = [&](const std::string& variable) {
    return IsOrIsIn(variable, multiplier.name);
  };
  if (std::ranges::any_of(variables, fits)) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("there is no trainable variable '{0}' and none in a scope "
                  "'{0}', for which a multiplier is given",
                  multiplier.name));
}

}  // namespace

absl::Status CheckVariableSettings(const MinimizeOptions& options,
                                   std::span<const std::string> variables) {
  for (const VariableMultiplier& multiplier : options.multipliers) {
    SPILLWAY_RETURN_IF_ERROR(CheckMultiplier(multiplier, variables));
  }
  const auto decays = [&](const std::string& variable) {
    return HasNameOf(options.decay_rule, variable);
  };
  if (options.decay_rule.names.empty() ||
      std::ranges::any_of(variables, decays)) {
    return absl::OkStatus();
  }
  return InvalidArgument(fmt::format(
      "no trainable variable has a name that decay_rule lists: '{}'",
      fmt::join(options.decay_rule.names, "', '")));
}

VariableSettings SettingsOf(const MinimizeOptions& options,
                            const std::string& variable, const Shape& shape) {
  VariableSettings settings;
  settings.decays = options.decay_rule.names.empty()
                        ? shape.rank() >= 2
                        : HasNameOf(options.decay_rule, variable);
  settings.decay_multiplier = settings.decays ? 1 : 0;
  for (const VariableMultiplier& multiplier : options.multipliers) {
    if (!IsOrIsIn(variable, multiplier.name)) continue;
    settings.rate_multiplier = multiplier.rate;
    settings.decay_multiplier = settings.decays ? multiplier.decay : 0;
  }
  return settings;
}

absl::Status CheckNotNegative(double value, const std::string& what) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return InvalidArgument(
      fmt::format("a {} must be 0 or more and finite, not {}", what, value));
}

}  // namespace spillway
