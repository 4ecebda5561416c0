#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/batch_norm.h"
#include "ops/normalization/batch_norm.h"

namespace spillway::ops {

NewKernel FusedBatchNormGradGpu(const KernelRequest& node) {
  const TensorType& x = node.inputs[1];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  SPILLWAY_ASSIGN_OR_RETURN(const BatchNormAttributes attributes,
                            ReadBatchNorm(node.attributes));
  const int64_t channels = x.shape.dim(-1);
  const gpu::BatchNorm norm = {.dtype = x.dtype,
                               .rows = x.num_elements() / channels,
                               .channels = channels,
                               .is_training = attributes.is_training,
                               .activation = attributes.activation};
  const bool has_side = node.inputs.size() == 7;
  const bool has_mask = attributes.mask;
  return MakeGpuKernel(
      [=](const KernelContext& context) {
        return gpu::NormalizeGrad(
            context.stream, norm,
            {.dy = context.inputs[0],
             .x = context.inputs[1],
             .scale = context.input<float>(2),
             .offset = context.input<float>(3),
             .mean = context.input<float>(4),
             .inv_std = context.input<float>(5),
             .y = has_side && !has_mask ? context.inputs[6] : nullptr,
             .mask = has_mask ? context.input<uint8_t>(6) : nullptr,
             .dx = context.outputs[0],
             .dscale = context.output<float>(1),
             .doffset = context.output<float>(2),
             .dside = has_side ? context.outputs[3] : nullptr,
             .workspace = static_cast<float*>(context.workspace)});
      },
      gpu::BatchNormWorkspaceBytes(norm));
}

}  // namespace spillway::ops
