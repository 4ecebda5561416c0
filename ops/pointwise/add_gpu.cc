#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/broadcast.h"

namespace spillway::ops {
namespace {

gpu::OneFor WhatBIsOf(const TensorType& a, const TensorType& b) {
  if (b.shape == a.shape) return gpu::OneFor::kElement;
  return b.shape.rank() == 0 ? gpu::OneFor::kAll : gpu::OneFor::kColumn;
}

NewKernel BroadcastKernel(const KernelRequest& node,
                          gpu::BroadcastFunction function) {
  const TensorType& a = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(a));
  const int64_t columns = a.shape.rank() == 0 ? 1 : a.shape.dim(-1);
  const gpu::Broadcast broadcast = {
      .function = function,
      .b_has_one_for = WhatBIsOf(a, node.inputs[1]),
      .dtype = a.dtype,
      .b_dtype = a.dtype,
      .rows = a.num_elements() / columns,
      .columns = columns};
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::RunBroadcast(context.stream, broadcast, context.inputs[0],
                             context.inputs[1], context.outputs[0]);
  });
}

}  // namespace

NewKernel AddGpu(const KernelRequest& node) {
  return BroadcastKernel(node, gpu::BroadcastFunction::kAdd);
}

NewKernel MulGpu(const KernelRequest& node) {
  return BroadcastKernel(node, gpu::BroadcastFunction::kMultiply);
}

NewKernel SubGpu(const KernelRequest& node) {
  return BroadcastKernel(node, gpu::BroadcastFunction::kSubtract);
}

}  // namespace spillway::ops
