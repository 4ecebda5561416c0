#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/read_pool.h"

namespace spillway::ops {

NewKernel MaxPoolGradGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const gpu::Pool pool,
                            ReadGpuPool(node.attributes, node.inputs[0]));
  return MakeGpuKernel(
      [=](const KernelContext& context) {
        return gpu::MaxPoolGrad(context.stream, pool,
                                {.x = context.inputs[0],
                                 .dy = context.inputs[1],
                                 .dx = context.outputs[0],
                                 .workspace = context.workspace});
      },
      gpu::MaxPoolGradWorkspaceBytes(pool));
}

}  // namespace spillway::ops
