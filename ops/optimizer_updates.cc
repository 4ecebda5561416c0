#include "ops/optimizer_updates.h"

#include <limits>

#include "base/status_macros.h"
#include "ops/common/expect.h"
#include "ops/common/update.h"

namespace spillway::ops {

Op ApplyGradientDescent() {
  return {.def = UpdateDef(
              {.name = "ApplyGradientDescent", .flops_per_element = 4}),
          .kernels = {{DeviceKind::kCpu, ApplyGradientDescentCpu}}};
}

namespace {

absl::Status CheckMomentum(const Attributes& attributes) {
  SPILLWAY_RETURN_IF_ERROR(
      GetRealIn(attributes, "momentum", 0.9, 0, 1).status());
  return attributes.GetBool("use_nesterov", false).status();
}

}  // namespace

Op ApplyMomentum() {
  return {.def = UpdateDef({.name = "ApplyMomentum",
                            .slots = {"accumulator"},
                            .attributes = {"momentum", "use_nesterov"},
                            .check = CheckMomentum,
                            .flops_per_element = 6}),
          .kernels = {{DeviceKind::kCpu, ApplyMomentumCpu}}};
}

namespace {

absl::Status CheckAdam(const Attributes& attributes) {
  constexpr double kMost = std::numeric_limits<float>::max();
  SPILLWAY_RETURN_IF_ERROR(GetRealIn(attributes, "beta1", 0.9, 0, 1).status());
  SPILLWAY_RETURN_IF_ERROR(
      GetRealIn(attributes, "beta2", 0.999, 0, 1).status());
  return GetRealIn(attributes, "epsilon", 1e-8, 0, kMost).status();
}

}  // namespace

Op ApplyAdam() {
  return {.def = UpdateDef({.name = "ApplyAdam",
                            .slots = {"m", "v", "beta_power"},
                            .attributes = {"beta1", "beta2", "epsilon"},
                            .check = CheckAdam,
                            .flops_per_element = 14}),
          .kernels = {{DeviceKind::kCpu, ApplyAdamCpu}}};
}

namespace {

absl::Status CheckRmsProp(const Attributes& attributes) {
  constexpr double kMost = std::numeric_limits<float>::max();
  SPILLWAY_RETURN_IF_ERROR(GetRealIn(attributes, "decay", 0.9, 0, 1).status());
  SPILLWAY_RETURN_IF_ERROR(GetRealIn(attributes, "momentum", 0, 0, 1).status());
  return GetRealIn(attributes, "epsilon", 1e-10, 0, kMost).status();
}

}  // namespace

Op ApplyRMSProp() {
  return {.def = UpdateDef({.name = "ApplyRMSProp",
                            .slots = {"mean_square", "accumulator"},
                            .attributes = {"decay", "momentum", "epsilon"},
                            .check = CheckRmsProp,
                            .flops_per_element = 12}),
          .kernels = {{DeviceKind::kCpu, ApplyRMSPropCpu}}};
}

}  // namespace spillway::ops
