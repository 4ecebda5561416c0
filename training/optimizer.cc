#include "training/optimizer.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/status_macros.h"
#include "training/variable_updates.h"

namespace spillway {

absl::StatusOr<Optimizer> ParseOptimizer(std::string_view name) {
  if (name == "sgd") return Sgd();
  if (name == "momentum") return Momentum();
  if (name == "velocity") return Velocity();
  if (name == "nesterov") return Velocity{.use_nesterov = true};
  if (name == "lars") return Lars();
  if (name == "adagrad") return AdaGrad();
  if (name == "adam") return Adam();
  if (name == "adamw") return AdamW();
  if (name == "rmsprop") return RmsProp();
  return InvalidArgument(
      fmt::format("there is no optimizer named '{}'; known: sgd momentum "
                  "velocity nesterov lars adagrad adam adamw rmsprop",
                  name));
}

absl::Status CheckLossScale(double loss_scale) {
  const auto scale = static_cast<float>(loss_scale);
  const float inverse = 1 / scale;
  if (scale > 0 && inverse > 0 && std::isfinite(scale) &&
      std::isfinite(inverse)) {
    return absl::OkStatus();
  }
  return InvalidArgument(fmt::format(
      "a loss scale must be positive and finite, not {}", loss_scale));
}

Tensor Minimize(const NameScope& scope, Tensor loss, const Optimizer& optimizer,
                const MinimizeOptions& options) {
  const std::vector<VariableGradient> gradients =
      GradientsToApply(scope, loss, options);
  if (!scope.builder().status().ok()) return {};
  return ReduceAndUpdate(scope, gradients, optimizer, options);
}

}  // namespace spillway
