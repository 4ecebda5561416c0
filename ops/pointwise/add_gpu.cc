#include <optional>

#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/broadcast.h"
#include "ops/gpu/kernel/integers.h"
#include "ops/gpu/repeated_over.h"

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
  return RepeatedPairKernel(node, [function](
                                      gpu::StreamHandle stream, DType dtype,
                                      const gpu::RepeatedDims& dims,
                                      const void* a, const void* b, void* y) {
    return gpu::RunRepeatedBroadcast(stream, function, dtype, dims, a, b, y);
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

NewKernel IntegerKernel(const KernelRequest& node, integer::Function function) {
  return RepeatedPairKernel(
      node, [function](gpu::StreamHandle stream, DType dtype,
                       const gpu::RepeatedDims& dims, const void* a,
                       const void* b, void* y) {
        return gpu::ComputeIntegers(stream, function, dtype, dims, a, b, y);
      });
}

// By the operands' dtype.
NewKernel NumberKernel(const KernelRequest& node,
                       gpu::BroadcastFunction function,
                       integer::Function of_integers) {
  return IsFloating(node.inputs[0].dtype) ? BroadcastKernel(node, function)
                                          : IntegerKernel(node, of_integers);
}

}  // namespace

NewKernel AddGpu(const KernelRequest& node) {
  return NumberKernel(node, gpu::BroadcastFunction::kAdd,
                      integer::Function::kAdd);
}

NewKernel GreaterShareGpu(const KernelRequest& node) {
  return BroadcastKernel(node, gpu::BroadcastFunction::kGreaterShare);
}

NewKernel MaximumGpu(const KernelRequest& node) {
  return BroadcastKernel(node, gpu::BroadcastFunction::kMaximum);
}

NewKernel MinimumGpu(const KernelRequest& node) {
  return BroadcastKernel(node, gpu::BroadcastFunction::kMinimum);
}

NewKernel MulGpu(const KernelRequest& node) {
  return NumberKernel(node, gpu::BroadcastFunction::kMultiply,
                      integer::Function::kMultiply);
}

NewKernel PowGpu(const KernelRequest& node) {
  return BroadcastKernel(node, gpu::BroadcastFunction::kPower);
}

NewKernel RealDivGpu(const KernelRequest& node) {
  return BroadcastKernel(node, gpu::BroadcastFunction::kDivide);
}

NewKernel SubGpu(const KernelRequest& node) {
  return NumberKernel(node, gpu::BroadcastFunction::kSubtract,
                      integer::Function::kSubtract);
}

NewKernel TruncateDivGpu(const KernelRequest& node) {
  return IntegerKernel(node, integer::Function::kDivide);
}

}  // namespace spillway::ops
