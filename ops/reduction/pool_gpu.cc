#include <cstdint>

#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/read_pool.h"

namespace spillway::ops {

NewKernel MaxPoolGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const gpu::Pool pool,
                            ReadGpuPool(node.attributes, node.inputs[0]));
  SPILLWAY_ASSIGN_OR_RETURN(const bool has_places,
                            node.attributes.GetBool("places", false));
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::MaxPool(context.stream, pool, context.inputs[0],
                        context.outputs[0],
                        has_places ? context.output<uint8_t>(1) : nullptr);
  });
}

NewKernel MaxPoolGradGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const gpu::Pool pool,
                            ReadGpuPool(node.attributes, node.outputs[0]));
  SPILLWAY_ASSIGN_OR_RETURN(const bool has_places,
                            node.attributes.GetBool("places", false));
  return MakeGpuKernel(
      [=](const KernelContext& context) {
        return gpu::MaxPoolGrad(
            context.stream, pool,
            {.x = has_places ? nullptr : context.inputs[0],
             .places = has_places ? context.input<uint8_t>(0) : nullptr,
             .dy = context.inputs[1],
             .dx = context.outputs[0],
             .workspace = context.workspace});
      },
      has_places ? 0 : gpu::MaxPoolGradWorkspaceBytes(pool));
}

NewKernel AvgPoolGpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(gpu::Pool pool,
                            ReadGpuPool(node.attributes, node.inputs[0]));
  SPILLWAY_ASSIGN_OR_RETURN(
      pool.counts_padding, node.attributes.GetBool("count_include_pad", false));
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::AvgPool(context.stream, pool, context.inputs[0],
                        context.outputs[0]);
  });
}

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
