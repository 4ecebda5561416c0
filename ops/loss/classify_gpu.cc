#include "base/status_macros.h"
#include "ops/common/expect.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/classify.h"

namespace spillway::ops {

NewKernel ArgMaxGpu(const KernelRequest& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t axis, node.attributes.GetInt("axis"));
  SPILLWAY_ASSIGN_OR_RETURN(const int resolved,
                            ResolveAxis(axis, x.shape.rank()));
  gpu::ArgMax arg_max = {.dtype = x.dtype, .n = x.shape.dim(resolved)};
  for (int i = 0; i < resolved; ++i) arg_max.outer *= x.shape.dim(i);
  for (int i = resolved + 1; i < x.shape.rank(); ++i) {
    arg_max.inner *= x.shape.dim(i);
  }
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::RunArgMax(context.stream, arg_max, context.inputs[0],
                          context.outputs[0]);
  });
}

NewKernel InTopKGpu(const KernelRequest& node) {
  const TensorType& predictions = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(predictions));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t k, node.attributes.GetInt("k"));
  const gpu::InTopK in_top_k = {.dtype = predictions.dtype,
                                .rows = predictions.shape.dim(0),
                                .classes = predictions.shape.dim(1),
                                .k = k};
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::RunInTopK(context.stream, in_top_k, context.inputs[0],
                          context.inputs[1], context.outputs[0]);
  });
}

}  // namespace spillway::ops
