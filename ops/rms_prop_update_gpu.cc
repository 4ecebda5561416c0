#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/update_kernel.h"

namespace spillway::ops {
namespace {

absl::StatusOr<gpu::RmsPropUpdate> ReadOptions(const Attributes& attributes) {
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
                            ReadOptions(node.attributes));
  return GpuUpdateKernel(node, options);
}

}  // namespace spillway::ops
