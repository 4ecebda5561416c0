#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/update_kernel.h"

namespace spillway::ops {
namespace {

absl::StatusOr<gpu::AdamUpdate> ReadOptions(const Attributes& attributes) {
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
                            ReadOptions(node.attributes));
  return GpuUpdateKernel(node, options);
}

}  // namespace spillway::ops
