#include <array>
#include <optional>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/broadcast_dims.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/broadcast.h"

namespace spillway::ops {
namespace {

// What b has one element for; nullopt: both are repeated in other ways.
std::optional<gpu::OneFor> WhatBIsOf(const Shape& a, const Shape& b) {
  if (b == a) return gpu::OneFor::kElement;
  if (b.rank() == 0) return gpu::OneFor::kAll;
  if (b.rank() == 1 && a.rank() > 0 && b.dim(0) == a.dim(-1)) {
    return gpu::OneFor::kColumn;
  }
  return std::nullopt;
}

NewKernel RepeatedKernel(const KernelRequest& node,
                         gpu::BroadcastFunction function) {
  const std::array<Shape, 2> shapes = {node.inputs[0].shape,
                                       node.inputs[1].shape};
  const std::vector<BroadcastDim> dims = MergedDims(shapes);
  gpu::RepeatedBroadcast broadcast = {.function = function,
                                      .dtype = node.inputs[0].dtype,
                                      .rank = static_cast<int>(dims.size())};
  for (size_t i = 0; i < dims.size(); ++i) {
    broadcast.dims[i] = {.size = dims[i].size,
                         .a_step = dims[i].steps[0],
                         .b_step = dims[i].steps[1]};
  }
  return MakeGpuKernel([=](const KernelContext& context) {
    return gpu::RunRepeatedBroadcast(context.stream, broadcast,
                                     context.inputs[0], context.inputs[1],
                                     context.outputs[0]);
  });
}

NewKernel BroadcastKernel(const KernelRequest& node,
                          gpu::BroadcastFunction function) {
  const TensorType& a = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(a));
  const std::optional<gpu::OneFor> one_for =
      WhatBIsOf(a.shape, node.inputs[1].shape);
  if (!one_for.has_value()) return RepeatedKernel(node, function);
  const int64_t columns = a.shape.rank() == 0 ? 1 : a.shape.dim(-1);
  const gpu::Broadcast broadcast = {.function = function,
                                    .b_has_one_for = *one_for,
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

NewKernel RealDivGpu(const KernelRequest& node) {
  return BroadcastKernel(node, gpu::BroadcastFunction::kDivide);
}

NewKernel SubGpu(const KernelRequest& node) {
  return BroadcastKernel(node, gpu::BroadcastFunction::kSubtract);
}

}  // namespace spillway::ops
