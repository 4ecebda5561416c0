#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/batch_norm.h"
#include "ops/normalization/batch_norm.h"

namespace spillway::ops {

NewKernel FusedBatchNormGpu(const KernelRequest& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  SPILLWAY_ASSIGN_OR_RETURN(const BatchNormAttributes attributes,
                            ReadBatchNorm(node.attributes));
  const int64_t channels = x.shape.dim(-1);
  const gpu::BatchNorm norm = {.dtype = x.dtype,
                               .rows = x.num_elements() / channels,
                               .channels = channels,
                               .epsilon = attributes.epsilon,
                               .momentum = attributes.momentum,
                               .is_training = attributes.is_training,
                               .activation = attributes.activation};
  const bool has_side = node.inputs.size() == 6;
  const bool has_mask = attributes.mask;
  return MakeGpuKernel(
      [=](const KernelContext& context) {
        return gpu::Normalize(
            context.stream, norm,
            {.x = context.inputs[0],
             .scale = context.input<float>(1),
             .offset = context.input<float>(2),
             .moving_mean = context.mutable_input<float>(3),
             .moving_variance = context.mutable_input<float>(4),
             .side = has_side ? context.inputs[5] : nullptr,
             .y = context.outputs[0],
             .mask = has_mask ? context.output<uint8_t>(3) : nullptr,
             .mean = context.output<float>(1),
             .inv_std = context.output<float>(2),
             .workspace = static_cast<float*>(context.workspace)});
      },
      gpu::BatchNormWorkspaceBytes(norm));
}

}  // namespace spillway::ops
