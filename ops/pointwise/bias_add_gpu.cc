#include "base/status_macros.h"
#include "ops/common/activation.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/broadcast.h"

namespace spillway::ops {

NewKernel BiasAddGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const bool has_relu, ReadRelu(node.attributes));
  const TensorType& x = node.inputs[0];
  const TensorType& bias = node.inputs[1];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(bias));
  const gpu::Broadcast broadcast = {
      .function = has_relu ? gpu::BroadcastFunction::kAddRelu
                           : gpu::BroadcastFunction::kAdd,
      .b_has_one_for = gpu::OneFor::kColumn,
      .dtype = x.dtype,
      .b_dtype = bias.dtype,
      .rows = x.num_elements() / bias.num_elements(),
      .columns = bias.num_elements()};
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::RunBroadcast(context.stream, broadcast, context.inputs[0],
                             context.inputs[1], context.outputs[0]);
  });
}

}  // namespace spillway::ops
