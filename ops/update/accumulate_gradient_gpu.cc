#include "ops/gpu/factories.h"
#include "ops/gpu/update_kernel.h"

namespace spillway::ops {

NewKernel AccumulateGradientGpu(const KernelRequest& node) {
  return GpuUpdateKernel(node, AccumulateRule());
}

}  // namespace spillway::ops
