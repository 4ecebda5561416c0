#include "squared_relu.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace {

using spillway::DType;
using spillway::TensorType;

// Shape inference. It checks everything that the kernels rely on.
absl::StatusOr<std::vector<TensorType>> InferSquaredRelu(
    const spillway::InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(spillway::ExpectDType("x", x, DType::kFloat32));
  return std::vector{x};
}

absl::StatusOr<std::vector<TensorType>> InferSquaredReluGrad(
    const spillway::InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(spillway::ExpectDType("x", x, DType::kFloat32));
  SPILLWAY_RETURN_IF_ERROR(spillway::ExpectType("dy", node.inputs[1], x, "x"));
  return std::vector{x};
}

// Adds the gradient of a SquaredRelu node. Returns one tensor for each input.
absl::StatusOr<std::vector<spillway::Tensor>> SquaredReluGradient(
    spillway::GradientContext& grad) {
  return std::vector{grad.Add("SquaredReluGrad", {grad.x(0), grad.dy(0)})};
}

float Positive(float x) { return std::max(x, 0.0f); }

// Kernel factories. They read the node's types; a run only computes.
absl::StatusOr<std::unique_ptr<spillway::Kernel>> SquaredReluCpu(
    const spillway::KernelRequest& node) {
  return spillway::MakeKernel([n = node.inputs[0].num_elements()](
                                  const spillway::KernelContext& context) {
    const float* x = context.input<float>(0);
    float* y = context.output<float>(0);
    for (int64_t i = 0; i < n; ++i) y[i] = Positive(x[i]) * Positive(x[i]);
  });
}

absl::StatusOr<std::unique_ptr<spillway::Kernel>> SquaredReluGradCpu(
    const spillway::KernelRequest& node) {
  return spillway::MakeKernel([n = node.inputs[0].num_elements()](
                                  const spillway::KernelContext& context) {
    const float* x = context.input<float>(0);
    const float* dy = context.input<float>(1);
    float* dx = context.output<float>(0);
    for (int64_t i = 0; i < n; ++i) {
      dx[i] = 2 * Positive(x[i]) * dy[i];
    }
  });
}

}  // namespace

void AddSquaredRelu(spillway::OpRegistry& ops) {
  // in_place: if nothing reads the input later, the planner may let the output
  // overwrite it. Predictions use the cost until the op has been measured.
  ops.Add({.name = "SquaredRelu",
           .inputs = {"x"},
           .outputs = {"y"},
           .infer = InferSquaredRelu,
           .gradient = SquaredReluGradient,
           .cost = spillway::FlopsPerElement(2),
           .in_place = {{.input = 0, .output = 0}}});
  ops.Add({.name = "SquaredReluGrad",
           .inputs = {"x", "dy"},
           .outputs = {"dx"},
           .infer = InferSquaredReluGrad,
           .cost = spillway::FlopsPerElement(3),
           .in_place = {{.input = 1, .output = 0}}});
}

void AddSquaredReluKernels(spillway::KernelRegistry& kernels) {
  kernels.Add("SquaredRelu", spillway::DeviceKind::kCpu, SquaredReluCpu);
  kernels.Add("SquaredReluGrad", spillway::DeviceKind::kCpu,
              SquaredReluGradCpu);
}

spillway::Tensor SquaredRelu(const spillway::NameScope& scope,
                             spillway::Tensor x) {
  return scope.builder().Add(scope, {.op = "SquaredRelu", .inputs = {x}});
}
