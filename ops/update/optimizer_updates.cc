#include "ops/update/optimizer_updates.h"

#include "ops/common/update.h"

namespace spillway::ops {
namespace {

// Whether the rule can be read.
template <auto kRead>
absl::Status Check(const Attributes& attributes) {
  return kRead(attributes).status();
}

}  // namespace

Op ApplyGradientDescent() {
  return {.def = UpdateDef({.name = "ApplyGradientDescent",
                            .check = Check<ReadGradientRule>,
                            .flops_per_element = 4}),
          .kernels = {{DeviceKind::kCpu, ApplyGradientDescentCpu}}};
}

Op ApplyMomentum() {
  return {.def = UpdateDef({.name = "ApplyMomentum",
                            .slots = {"accumulator"},
                            .attributes = {"momentum", "use_nesterov"},
                            .check = Check<ReadMomentumRule>,
                            .flops_per_element = 6}),
          .kernels = {{DeviceKind::kCpu, ApplyMomentumCpu}}};
}

Op ApplyAdam() {
  return {.def = UpdateDef({.name = "ApplyAdam",
                            .slots = {"m", "v", "beta_power"},
                            .attributes = {"beta1", "beta2", "epsilon"},
                            .check = Check<ReadAdamRule>,
                            .flops_per_element = 14}),
          .kernels = {{DeviceKind::kCpu, ApplyAdamCpu}}};
}

Op ApplyRMSProp() {
  return {.def = UpdateDef({.name = "ApplyRMSProp",
                            .slots = {"mean_square", "accumulator"},
                            .attributes = {"decay", "momentum", "epsilon"},
                            .check = Check<ReadRmsPropRule>,
                            .flops_per_element = 12}),
          .kernels = {{DeviceKind::kCpu, ApplyRMSPropCpu}}};
}

}  // namespace spillway::ops
