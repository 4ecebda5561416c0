#include <cstdint>
#include <vector>

#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/broadcast.h"
#include "ops/gpu/strided_box.h"
#include "ops/reduction/reduce.h"

namespace spillway::ops {
namespace {

// Repeats a tensor of dy's size to dx.
gpu::StridedBox RepeatedBox(const TensorType& dx,
                            const std::vector<bool>& is_reduced) {
  return MakeStridedBox(RepeatOver(dx.shape, is_reduced, SizeOf(dx.dtype)));
}

}  // namespace

// Scales dy, the smaller side, into the workspace and repeats it from there.
NewKernel MeanGradGpu(const KernelRequest& node) {
  const TensorType& dy = node.inputs[0];
  const TensorType& dx = node.outputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(dy));
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<bool> is_reduced,
                            ReducedAxes(node.attributes, dx.shape));
  const float scale =
      1 / static_cast<float>(ReducedElements(is_reduced, dx.shape));
  return MakeGpuKernel(
      [=, box = RepeatedBox(dx, is_reduced), dtype = dy.dtype,
       n = dy.num_elements()](const KernelContext& context) {
        const gpu::LaunchError error =
            gpu::Scale(context.stream, dtype, scale, context.inputs[0],
                       context.workspace, n);
        if (error != 0) return error;
        return gpu::CopyBox(context.stream, box, context.workspace,
                            context.outputs[0]);
      },
      dy.num_bytes());
}

NewKernel SumGradGpu(const KernelRequest& node) {
  const TensorType& dx = node.outputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(dx));
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<bool> is_reduced,
                            ReducedAxes(node.attributes, dx.shape));
  return MakeGpuKernel(
      [box = RepeatedBox(dx, is_reduced)](const KernelContext& context) {
        return gpu::CopyBox(context.stream, box, context.inputs[0],
                            context.outputs[0]);
      });
}

}  // namespace spillway::ops
