#include <array>

#include "ops/choice/select.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/choose.h"
#include "ops/gpu/repeated_over.h"

namespace spillway::ops {

NewKernel SelectGpu(const KernelRequest& node) {
  const std::array<Shape, 3> shapes = {
      node.inputs[0].shape, node.inputs[1].shape, node.inputs[2].shape};
  return MakeGpuKernel(
      [=, bytes = SizeOf(node.outputs[0].dtype),
       dims = RepeatedOver(shapes)](const KernelContext& context) {
        return gpu::Select(context.stream, bytes, dims, context.input<bool>(0),
                           context.inputs[1], context.inputs[2],
                           context.outputs[0]);
      });
}

}  // namespace spillway::ops
