#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/cast.h"

namespace spillway::ops {
NewKernel CastGpu(const KernelRequest& node) {
  const gpu::Cast cast = {.from = node.inputs[0].dtype,
                          .to = node.outputs[0].dtype,
                          .n = node.outputs[0].num_elements()};
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::RunCast(context.stream, cast, context.inputs[0],
                        context.outputs[0]);
  });
}

}  // namespace spillway::ops
