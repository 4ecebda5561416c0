#include "ops/pointwise/activation.h"

#include <string>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferActivation(
    const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", node.inputs[0]));
  return std::vector{node.inputs[0]};
}

absl::StatusOr<std::vector<TensorType>> InferActivationGrad(
    const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("dy", node.inputs[0]));
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("y", node.inputs[1], node.inputs[0], "dy"));
  return std::vector{node.inputs[0]};
}

Op Activation(const std::string& name, double flops, KernelFactory cpu) {
  const auto gradient =
      [name](GradientContext& grad) -> absl::StatusOr<std::vector<Tensor>> {
    return std::vector{grad.Add(name + "Grad", {grad.dy(0), grad.y(0)})};
  };
  return {.def = {.name = name,
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .infer = InferActivation,
                  .gradient = gradient,
                  .cost = FlopsPerElement(flops),
                  .in_place = {{.input = 0, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, cpu}}};
}

Op ActivationGrad(const std::string& name, double flops, KernelFactory cpu) {
  return {.def = {.name = name,
                  .inputs = {"dy", "y"},
                  .outputs = {"dx"},
                  .infer = InferActivationGrad,
                  .cost = FlopsPerElement(flops),
                  .in_place = {{.input = 0, .output = 0},
                               {.input = 1, .output = 0}},
                  .part_inputs = {0, 1}},
          .kernels = {{DeviceKind::kCpu, cpu}}};
}

}  // namespace

// An exponential counts as ten flops.
Op Elu() { return Activation("Elu", 11, EluCpu); }
Op EluGrad() { return ActivationGrad("EluGrad", 2, EluGradCpu); }
Op Relu() { return Activation("Relu", 1, ReluCpu); }
Op Relu6() { return Activation("Relu6", 2, Relu6Cpu); }
Op Relu6Grad() { return ActivationGrad("Relu6Grad", 1, Relu6GradCpu); }
Op ReluGrad() { return ActivationGrad("ReluGrad", 1, ReluGradCpu); }
Op Sigmoid() { return Activation("Sigmoid", 12, SigmoidCpu); }
Op SigmoidGrad() { return ActivationGrad("SigmoidGrad", 3, SigmoidGradCpu); }
Op Tanh() { return Activation("Tanh", 12, TanhCpu); }
Op TanhGrad() { return ActivationGrad("TanhGrad", 3, TanhGradCpu); }

}  // namespace spillway::ops
