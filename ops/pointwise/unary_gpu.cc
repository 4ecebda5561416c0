#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/unary.h"
#include "ops/pointwise/unary.h"

namespace spillway::ops {

NewKernel UnaryGpu(PointwiseFunction function, const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const UnaryOf unary,
                            ReadUnary(function, node.attributes));
  const TensorType& type = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(type));
  return MakeGpuKernel([=, dtype = type.dtype,
                        n = type.num_elements()](const KernelContext& context) {
    return gpu::RunUnary(context.stream, unary.function, unary.parameters,
                         dtype, context.inputs[0], context.outputs[0], n);
  });
}

NewKernel UnaryGradGpu(PointwiseFunction function, const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const UnaryOf unary,
                            ReadUnary(function, node.attributes));
  const TensorType& type = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(type));
  return MakeGpuKernel([=, dtype = type.dtype,
                        n = type.num_elements()](const KernelContext& context) {
    return gpu::RunUnaryGrad(context.stream, unary.function, unary.parameters,
                             dtype, context.inputs[0], context.inputs[1],
                             context.outputs[0], n);
  });
}

}  // namespace spillway::ops
