#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/lrn.h"
#include "ops/normalization/lrn.h"

namespace spillway::ops {
namespace {

absl::StatusOr<gpu::Lrn> ReadGpuLrn(const KernelRequest& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  SPILLWAY_ASSIGN_OR_RETURN(const LrnAttributes lrn, ReadLrn(node.attributes));
  const int64_t channels = x.shape.dim(-1);
  return gpu::Lrn{.dtype = x.dtype,
                  .rows = x.num_elements() / channels,
                  .channels = channels,
                  .depth_radius = lrn.depth_radius,
                  .bias = static_cast<float>(lrn.bias),
                  .alpha = static_cast<float>(lrn.alpha),
                  .beta = static_cast<float>(lrn.beta)};
}

}  // namespace

NewKernel LrnGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const gpu::Lrn lrn, ReadGpuLrn(node));
  return MakeGpuKernel(
      [=](const KernelContext& context) {
        return gpu::LrnForward(context.stream, lrn, context.inputs[0],
                               context.outputs[0], context.workspace);
      },
      gpu::WorkspaceBytes(lrn));
}

NewKernel LrnGradGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const gpu::Lrn lrn, ReadGpuLrn(node));
  return MakeGpuKernel(
      [=](const KernelContext& context) {
        return gpu::LrnBackward(context.stream, lrn,
                                {.dy = context.inputs[0],
                                 .x = context.inputs[1],
                                 .dx = context.outputs[0],
                                 .workspace = context.workspace});
      },
      gpu::WorkspaceBytes(lrn));
}

}  // namespace spillway::ops
