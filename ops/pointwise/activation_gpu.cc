#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/elementwise.h"

namespace spillway::ops {
namespace {

NewKernel UnaryKernel(const KernelRequest& node, gpu::UnaryFunction function) {
  const TensorType& type = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(type));
  return MakeGpuKernel([=, dtype = type.dtype,
                        n = type.num_elements()](const KernelContext& context) {
    return gpu::Unary(context.stream, function, dtype, context.inputs[0],
                      context.outputs[0], n);
  });
}

NewKernel BinaryKernel(const KernelRequest& node,
                       gpu::BinaryFunction function) {
  const TensorType& type = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(type));
  return MakeGpuKernel([=, dtype = type.dtype,
                        n = type.num_elements()](const KernelContext& context) {
    return gpu::Binary(context.stream, function, dtype, context.inputs[0],
                       context.inputs[1], context.outputs[0], n);
  });
}

}  // namespace

NewKernel EluGpu(const KernelRequest& node) {
  return UnaryKernel(node, gpu::UnaryFunction::kElu);
}
NewKernel ReluGpu(const KernelRequest& node) {
  return UnaryKernel(node, gpu::UnaryFunction::kRelu);
}
NewKernel Relu6Gpu(const KernelRequest& node) {
  return UnaryKernel(node, gpu::UnaryFunction::kRelu6);
}
NewKernel SigmoidGpu(const KernelRequest& node) {
  return UnaryKernel(node, gpu::UnaryFunction::kSigmoid);
}
NewKernel TanhGpu(const KernelRequest& node) {
  return UnaryKernel(node, gpu::UnaryFunction::kTanh);
}

NewKernel EluGradGpu(const KernelRequest& node) {
  return BinaryKernel(node, gpu::BinaryFunction::kEluGrad);
}
NewKernel ReluGradGpu(const KernelRequest& node) {
  return BinaryKernel(node, gpu::BinaryFunction::kReluGrad);
}
NewKernel Relu6GradGpu(const KernelRequest& node) {
  return BinaryKernel(node, gpu::BinaryFunction::kRelu6Grad);
}
NewKernel SigmoidGradGpu(const KernelRequest& node) {
  return BinaryKernel(node, gpu::BinaryFunction::kSigmoidGrad);
}
NewKernel TanhGradGpu(const KernelRequest& node) {
  return BinaryKernel(node, gpu::BinaryFunction::kTanhGrad);
}

}  // namespace spillway::ops
