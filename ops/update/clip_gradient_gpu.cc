#include <cstdint>

#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/clip_gradient.h"
#include "ops/update/clip_gradient.h"

namespace spillway::ops {

NewKernel SquareSumGpu(const KernelRequest& node) {
  const int64_t n = node.inputs[0].num_elements();
  return MakeGpuKernel(
      [=](const KernelContext& context) {
        return gpu::SumSquares(context.stream, context.input<float>(0), n,
                               static_cast<double*>(context.workspace),
                               context.output<float>(0));
      },
      gpu::SumSquaresWorkspaceBytes(n));
}

NewKernel NormFactorGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const float max_norm,
                            ReadPositive(node.attributes, "max_norm", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const float scale,
                            ReadPositive(node.attributes, "scale", 1));
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::NormFactor(context.stream, max_norm, scale,
                           context.input<float>(0), context.output<float>(0));
  });
}

NewKernel ClipByValueGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const float limit,
                            ReadPositive(node.attributes, "limit", 0));
  const int64_t n = node.inputs[0].num_elements();
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::ClipByValue(context.stream, limit, n, context.input<float>(0),
                            context.output<float>(0));
  });
}

}  // namespace spillway::ops
