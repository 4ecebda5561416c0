#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/broadcast.h"

namespace spillway::ops {

NewKernel ScaleRowsGpu(const KernelRequest& node) {
  const TensorType& x = node.inputs[0];
  const TensorType& scale = node.inputs[1];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(scale));
  const gpu::Broadcast broadcast = {
      .function = gpu::BroadcastFunction::kMultiply,
      .b_has_one_for = gpu::OneFor::kRow,
      .dtype = x.dtype,
      .b_dtype = scale.dtype,
      .rows = scale.num_elements(),
      .columns = x.num_elements() / scale.num_elements()};
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::RunBroadcast(context.stream, broadcast, context.inputs[0],
                             context.inputs[1], context.outputs[0]);
  });
}

}  // namespace spillway::ops
