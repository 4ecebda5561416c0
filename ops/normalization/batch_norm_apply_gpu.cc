#include "base/status_macros.h"
#include "ops/common/activation.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/batch_norm.h"

namespace spillway::ops {

NewKernel BatchNormApplyGpu(const KernelRequest& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  SPILLWAY_ASSIGN_OR_RETURN(const FusedActivation activation,
                            ReadActivation(node.attributes));
  const int64_t channels = x.shape.dim(-1);
  const gpu::BatchNorm norm = {.dtype = x.dtype,
                               .rows = x.num_elements() / channels,
                               .channels = channels,
                               .activation = activation};
  const bool has_side = node.inputs.size() == 6;
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::ApplyNorm(context.stream, norm,
                          {.x = context.inputs[0],
                           .scale = context.input<float>(1),
                           .offset = context.input<float>(2),
                           .mean = context.input<float>(3),
                           .inv_std = context.input<float>(4),
                           .side = has_side ? context.inputs[5] : nullptr,
                           .y = context.outputs[0]});
  });
}

}  // namespace spillway::ops
