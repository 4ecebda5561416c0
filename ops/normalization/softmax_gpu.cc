#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/softmax.h"

namespace spillway::ops {
namespace {

gpu::Rows RowsOf(const TensorType& x) {
  const int64_t classes = x.shape.dim(-1);
  return {
      .dtype = x.dtype, .rows = x.num_elements() / classes, .classes = classes};
}

}  // namespace

NewKernel SoftmaxGpu(const KernelRequest& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(node.inputs[0]));
  return MakeGpuKernel(
      [size = RowsOf(node.inputs[0])](const KernelContext& context) {
        return gpu::Softmax(context.stream, size, context.inputs[0],
                            context.outputs[0]);
      });
}

NewKernel SoftmaxGradGpu(const KernelRequest& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(node.inputs[0]));
  return MakeGpuKernel(
      [size = RowsOf(node.inputs[0])](const KernelContext& context) {
        return gpu::SoftmaxGrad(context.stream, size, context.inputs[0],
                                context.inputs[1], context.outputs[0]);
      });
}

}  // namespace spillway::ops
