#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/group_norm.h"
#include "ops/normalization/group_norm.h"

namespace spillway::ops {
namespace {

gpu::GroupNorm SizeOf(const TensorType& x, const NormGroups& size) {
  return {.dtype = x.dtype,
          .samples = size.samples,
          .rows = size.rows,
          .groups = size.groups,
          .width = size.width,
          .epsilon = static_cast<float>(size.epsilon)};
}

// `read`: how the schema of the node's op sees its x.
NewKernel GroupNormOf(const KernelRequest& node,
                      const absl::StatusOr<NormGroups>& read) {
  SPILLWAY_ASSIGN_OR_RETURN(const NormGroups size, read);
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  return MakeGpuKernel([norm = SizeOf(x, size)](const KernelContext& context) {
    return gpu::NormalizeGroups(context.stream, norm,
                                {.x = context.inputs[0],
                                 .scale = context.input<float>(1),
                                 .offset = context.input<float>(2),
                                 .y = context.outputs[0],
                                 .mean = context.output<float>(1),
                                 .inv_std = context.output<float>(2)});
  });
}

NewKernel GroupNormGradOf(const KernelRequest& node,
                          const absl::StatusOr<NormGroups>& read) {
  SPILLWAY_ASSIGN_OR_RETURN(const NormGroups size, read);
  const TensorType& x = node.inputs[1];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  const gpu::GroupNorm norm = SizeOf(x, size);
  return MakeGpuKernel(
      [=](const KernelContext& context) {
        return gpu::NormalizeGroupsGrad(
            context.stream, norm,
            {.dy = context.inputs[0],
             .x = context.inputs[1],
             .scale = context.input<float>(2),
             .mean = context.input<float>(3),
             .inv_std = context.input<float>(4),
             .dx = context.outputs[0],
             .dscale = context.output<float>(1),
             .doffset = context.output<float>(2),
             .workspace = static_cast<float*>(context.workspace)});
      },
      gpu::GroupNormGradWorkspaceBytes(norm));
}

}  // namespace

NewKernel GroupNormGpu(const KernelRequest& node) {
  return GroupNormOf(
      node, ReadGroupNorm(node.attributes, node.inputs[0], node.inputs[1]));
}

NewKernel GroupNormGradGpu(const KernelRequest& node) {
  return GroupNormGradOf(
      node, ReadGroupNorm(node.attributes, node.inputs[1], node.inputs[2]));
}

NewKernel LayerNormGpu(const KernelRequest& node) {
  return GroupNormOf(
      node, ReadLayerNorm(node.attributes, node.inputs[0], node.inputs[1]));
}

NewKernel LayerNormGradGpu(const KernelRequest& node) {
  return GroupNormGradOf(
      node, ReadLayerNorm(node.attributes, node.inputs[1], node.inputs[2]));
}

}  // namespace spillway::ops
