#include "ops/array/gather.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/gather.h"

namespace spillway::ops {
namespace {

gpu::GatherRows RowsOf(const GatherSizes& sizes, DType indices) {
  return {.outer = sizes.outer,
          .n = sizes.n,
          .count = sizes.count,
          .inner = sizes.inner,
          .has_long_indices = indices == DType::kInt64};
}

}  // namespace

NewKernel GatherGpu(const KernelRequest& node) {
  const gpu::GatherRows rows =
      RowsOf(GatherSizesOf(node), node.inputs[1].dtype);
  return MakeGpuKernel(
      [=, bytes = SizeOf(node.inputs[0].dtype)](const KernelContext& context) {
        return gpu::RunGather(context.stream, rows, bytes, context.inputs[0],
                              context.inputs[1], context.outputs[0]);
      });
}

NewKernel GatherGradGpu(const KernelRequest& node) {
  const gpu::GatherRows rows =
      RowsOf(GatherGradSizesOf(node), node.inputs[1].dtype);
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::RunGatherGrad(context.stream, rows, context.inputs[0],
                              context.inputs[1], context.outputs[0]);
  });
}

}  // namespace spillway::ops
