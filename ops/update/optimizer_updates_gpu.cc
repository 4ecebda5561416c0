#include <algorithm>
#include <cstdint>

#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/kernel/lars_ratios.h"
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

NewKernel ApplyVelocityGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const VelocityRule rule,
                            ReadVelocityRule(node.attributes));
  return GpuUpdateKernel(node, rule);
}

// Launches of more groups share the workspace: they run one after the other.
NewKernel ApplyLarsGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const LarsRule rule, ReadLarsRule(node.attributes));
  int64_t most_elements = 0;
  for (const TensorType& variable : node.outputs) {
    most_elements = std::max(most_elements, variable.num_elements());
  }
  const size_t count = std::min(node.outputs.size(), gpu::kMostUpdateTensors);
  return GpuUpdateKernel(
      node, rule,
      gpu::LarsWorkspaceBytes(static_cast<int>(count), most_elements));
}

NewKernel ApplyAdagradGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const AdagradRule rule,
                            ReadAdagradRule(node.attributes));
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
