// Labels that the graph computes are not checked: the host does not see them
// (ops/gpu/kernel/softmax.h). The session has checked labels in feeds.
#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/softmax.h"

namespace spillway::ops {

NewKernel SparseSoftmaxCrossEntropyWithLogitsGpu(const KernelRequest& node) {
  const TensorType& logits = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(logits));
  const gpu::Rows size = {.dtype = logits.dtype,
                          .rows = logits.shape.dim(0),
                          .classes = logits.shape.dim(1)};
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::CrossEntropy(context.stream, size,
                             {.logits = context.inputs[0],
                              .labels = context.input<int32_t>(1),
                              .loss = context.output<float>(0),
                              .backprop = context.outputs[1]});
  });
}

}  // namespace spillway::ops
