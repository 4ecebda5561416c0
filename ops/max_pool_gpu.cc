#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/read_pool.h"

namespace spillway::ops {

NewKernel MaxPoolGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const gpu::Pool pool,
                            ReadGpuPool(node.attributes, node.inputs[0]));
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::MaxPool(context.stream, pool, context.inputs[0],
                        context.outputs[0]);
  });
}

}  // namespace spillway::ops
