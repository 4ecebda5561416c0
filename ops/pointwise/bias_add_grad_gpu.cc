#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/channel_sums.h"

namespace spillway::ops {

NewKernel BiasAddGradGpu(const KernelRequest& node) {
  const TensorType& dy = node.inputs[0];
  const TensorType& dbias = node.outputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(dy));
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(dbias));
  const int64_t channels = dbias.num_elements();
  const gpu::ChannelSums sums = {.reduced = dy.num_elements() / channels,
                                 .inner = channels,
                                 .x_dtype = dy.dtype,
                                 .y_dtype = dbias.dtype};
  return MakeGpuKernel(
      [=](const KernelContext& context) {
        return gpu::SumChannels(context.stream, sums,
                                {.x = context.inputs[0],
                                 .workspace = context.workspace,
                                 .y = context.outputs[0]});
      },
      gpu::WorkspaceBytes(sums));
}

}  // namespace spillway::ops
