#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/update_kernel.h"

namespace spillway::ops {

NewKernel ApplyGradientDescentGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const GradientRule rule,
                            ReadGradientRule(node.attributes));
  return GpuUpdateKernel(node, rule);
}

NewKernel ApplyMomentumGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const MomentumRule rule,
                            ReadMomentumRule(node.attributes));
  return GpuUpdateKernel(node, rule);
}

NewKernel ApplyAdamGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const AdamRule rule, ReadAdamRule(node.attributes));
  return GpuUpdateKernel(node, rule);
}

NewKernel ApplyRMSPropGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const RmsPropRule rule,
                            ReadRmsPropRule(node.attributes));
  return GpuUpdateKernel(node, rule);
}

}  // namespace spillway::ops
