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

Op ApplyVelocity() {
  return {.def = UpdateDef({.name = "ApplyVelocity",
                            .slots = {"velocity"},
                            .attributes = {"momentum", "use_nesterov"},
                            .check = Check<ReadVelocityRule>,
                            .flops_per_element = 7}),
          .kernels = {{DeviceKind::kCpu, ApplyVelocityCpu}}};
}

Op ApplyLars() {
  return {
      .def = UpdateDef({.name = "ApplyLars",
                        .slots = {"velocity"},
                        .attributes = {"momentum", "eta", "epsilon", "form"},
                        .check = Check<ReadLarsRule>,
                        .flops_per_element = 11,
                        .needs_norms = true}),
      .kernels = {{DeviceKind::kCpu, ApplyLarsCpu}}};
}

Op ApplyAdagrad() {
  return {.def = UpdateDef({.name = "ApplyAdagrad",
                            .slots = {"accumulator"},
                            .attributes = {"epsilon"},
                            .check = Check<ReadAdagradRule>,
                            .flops_per_element = 9}),
          .kernels = {{DeviceKind::kCpu, ApplyAdagradCpu}}};
}

Op ApplyAdam() {
  return {.def = UpdateDef({.name = "ApplyAdam",
                            .slots = {"m", "v", "beta_power"},
                            .attributes = {"beta1", "beta2", "epsilon",
                                           "decoupled_weight_decay"},
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
