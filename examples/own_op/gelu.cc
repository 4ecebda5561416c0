#include "gelu.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

namespace {

using spillway::DType;
using spillway::TensorType;

// Shape inference. It checks everything that the kernels rely on.
absl::StatusOr<std::vector<TensorType>> InferGelu(
    const spillway::InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(spillway::ExpectDType("x", x, DType::kFloat32));
  return std::vector{x};
}

absl::StatusOr<std::vector<TensorType>> InferGeluGrad(
    const spillway::InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(spillway::ExpectDType("x", x, DType::kFloat32));
  SPILLWAY_RETURN_IF_ERROR(spillway::ExpectType("dy", node.inputs[1], x, "x"));
  return std::vector{x};
}

// Adds the gradient of a Gelu node. Returns one tensor for each input.
absl::StatusOr<std::vector<spillway::Tensor>> GeluGradient(
    spillway::GradientContext& grad) {
  return std::vector{grad.Add("GeluGrad", {grad.x(0), grad.dy(0)})};
}

float Phi(float x) {
  return 0.5f * (1 + std::erf(x / std::numbers::sqrt2_v<float>));
}

float PhiSlope(float x) {
  return std::exp(-0.5f * x * x) * std::numbers::inv_sqrtpi_v<float> /
         std::numbers::sqrt2_v<float>;
}

// Kernel factories. They read the node's types; a run only computes.
absl::StatusOr<std::unique_ptr<spillway::Kernel>> GeluCpu(
    const spillway::KernelRequest& node) {
  return spillway::MakeKernel([n = node.inputs[0].num_elements()](
                                  const spillway::KernelContext& context) {
    const float* x = context.input<float>(0);
    float* y = context.output<float>(0);
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * Phi(x[i]);
  });
}

absl::StatusOr<std::unique_ptr<spillway::Kernel>> GeluGradCpu(
    const spillway::KernelRequest& node) {
  return spillway::MakeKernel([n = node.inputs[0].num_elements()](
                                  const spillway::KernelContext& context) {
    const float* x = context.input<float>(0);
    const float* dy = context.input<float>(1);
    float* dx = context.output<float>(0);
    for (int64_t i = 0; i < n; ++i) {
      dx[i] = dy[i] * (Phi(x[i]) + x[i] * PhiSlope(x[i]));
    }
  });
}

}  // namespace

void AddGelu(spillway::OpRegistry& ops) {
  // in_place: if nothing reads the input later, the planner may let the output
  // overwrite it. Predictions use the cost until the op has been measured.
  ops.Add({.name = "Gelu",
           .inputs = {"x"},
           .outputs = {"y"},
           .infer = InferGelu,
           .gradient = GeluGradient,
           .cost = spillway::FlopsPerElement(20),
           .in_place = {{.input = 0, .output = 0}}});
  ops.Add({.name = "GeluGrad",
           .inputs = {"x", "dy"},
           .outputs = {"dx"},
           .infer = InferGeluGrad,
           .cost = spillway::FlopsPerElement(30),
           .in_place = {{.input = 1, .output = 0}}});
}

void AddGeluKernels(spillway::KernelRegistry& kernels) {
  kernels.Add("Gelu", spillway::DeviceKind::kCpu, GeluCpu);
  kernels.Add("GeluGrad", spillway::DeviceKind::kCpu, GeluGradCpu);
}

spillway::Tensor Gelu(const spillway::NameScope& scope, spillway::Tensor x) {
  return scope.builder().Add(scope, {.op = "Gelu", .inputs = {x}});
}
