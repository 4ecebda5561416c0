#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/update_kernel.h"

namespace spillway::ops {

NewKernel ApplyGradientDescentGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const gpu::UpdateGradient gradient,
                            ReadUpdateGradient(node.attributes));
  return GpuUpdateKernel(node,
                         gpu::GradientDescentUpdate{.gradient = gradient});
}

namespace {

absl::StatusOr<gpu::MomentumUpdate> ReadMomentumOptions(
    const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const gpu::UpdateGradient gradient,
                            ReadUpdateGradient(attributes));
  SPILLWAY_ASSIGN_OR_RETURN(const double momentum,
                            attributes.GetReal("momentum", 0.9));
  SPILLWAY_ASSIGN_OR_RETURN(const bool nesterov,
                            attributes.GetBool("use_nesterov", false));
  return gpu::MomentumUpdate{.gradient = gradient,
                             .momentum = static_cast<float>(momentum),
                             .use_nesterov = nesterov};
}

}  // namespace

NewKernel ApplyMomentumGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const gpu::MomentumUpdate options,
                            ReadMomentumOptions(node.attributes));
  return GpuUpdateKernel(node, options);
}

namespace {

absl::StatusOr<gpu::AdamUpdate> ReadAdamOptions(const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const gpu::UpdateGradient gradient,
                            ReadUpdateGradient(attributes));
  SPILLWAY_ASSIGN_OR_RETURN(const double beta1,
                            attributes.GetReal("beta1", 0.9));
  SPILLWAY_ASSIGN_OR_RETURN(const double beta2,
                            attributes.GetReal("beta2", 0.999));
  SPILLWAY_ASSIGN_OR_RETURN(const double epsilon,
                            attributes.GetReal("epsilon", 1e-8));
  return gpu::AdamUpdate{.gradient = gradient,
                         .beta1 = static_cast<float>(beta1),
                         .beta2 = static_cast<float>(beta2),
                         .epsilon = static_cast<float>(epsilon)};
}

}  // namespace

NewKernel ApplyAdamGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const gpu::AdamUpdate options,
                            ReadAdamOptions(node.attributes));
  return GpuUpdateKernel(node, options);
}

namespace {

absl::StatusOr<gpu::RmsPropUpdate> ReadRmsPropOptions(
    const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const gpu::UpdateGradient gradient,
                            ReadUpdateGradient(attributes));
  SPILLWAY_ASSIGN_OR_RETURN(const double decay,
                            attributes.GetReal("decay", 0.9));
  SPILLWAY_ASSIGN_OR_RETURN(const double momentum,
                            attributes.GetReal("momentum", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const double epsilon,
                            attributes.GetReal("epsilon", 1e-10));
  return gpu::RmsPropUpdate{.gradient = gradient,
                            .decay = static_cast<float>(decay),
                            .momentum = static_cast<float>(momentum),
                            .epsilon = static_cast<float>(epsilon)};
}

}  // namespace

NewKernel ApplyRMSPropGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const gpu::RmsPropUpdate options,
                            ReadRmsPropOptions(node.attributes));
  return GpuUpdateKernel(node, options);
}

}  // namespace spillway::ops
