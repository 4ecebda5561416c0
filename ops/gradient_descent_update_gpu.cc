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

}  // namespace spillway::ops
