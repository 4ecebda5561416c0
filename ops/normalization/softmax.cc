#include "ops/normalization/softmax.h"

#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferSoftmax(const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", node.inputs[0]));
  SPILLWAY_RETURN_IF_ERROR(ExpectRankAtLeast("x", node.inputs[0], 1));
  return std::vector{node.inputs[0]};
}

absl::StatusOr<std::vector<TensorType>> InferSoftmaxGrad(
    const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("dy", node.inputs[0]));
  SPILLWAY_RETURN_IF_ERROR(ExpectRankAtLeast("dy", node.inputs[0], 1));
  SPILLWAY_RETURN_IF_ERROR(
      ExpectType("y", node.inputs[1], node.inputs[0], "dy"));
  return std::vector{node.inputs[0]};
}

absl::StatusOr<std::vector<Tensor>> SoftmaxGradient(GradientContext& grad) {
  return std::vector{grad.Add("SoftmaxGrad", {grad.dy(0), grad.y(0)})};
}

}  // namespace

// Maximum, subtraction, exponential (ten flops), sum, division.
Op Softmax() {
  return {.def = {.name = "Softmax",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .infer = InferSoftmax,
                  .gradient = SoftmaxGradient,
                  .cost = FlopsPerElement(14),
                  .in_place = {{.input = 0, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, SoftmaxCpu}}};
}

Op SoftmaxGrad() {
  return {.def = {.name = "SoftmaxGrad",
                  .inputs = {"dy", "y"},
                  .outputs = {"dx"},
                  .infer = InferSoftmaxGrad,
                  .cost = FlopsPerElement(4),
                  .in_place = {{.input = 0, .output = 0},
                               {.input = 1, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, SoftmaxGradCpu}}};
}

}  // namespace spillway::ops
