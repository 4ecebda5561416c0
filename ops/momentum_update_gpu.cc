#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/update_kernel.h"

namespace spillway::ops {
namespace {

absl::StatusOr<gpu::MomentumUpdate> ReadOptions(const Attributes& attributes) {
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
                            ReadOptions(node.attributes));
  return GpuUpdateKernel(node, options);
}

}  // namespace spillway::ops
