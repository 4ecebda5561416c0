#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/read_pool.h"

namespace spillway::ops {

NewKernel AvgPoolGradGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(gpu::Pool pool,
                            ReadGpuPool(node.attributes, node.outputs[0]));
  SPILLWAY_ASSIGN_OR_RETURN(
      pool.counts_padding, node.attributes.GetBool("count_include_pad", false));
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::AvgPoolGrad(context.stream, pool, context.inputs[0],
                            context.outputs[0]);
  });
}

}  // namespace spillway::ops
