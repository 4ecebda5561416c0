#include "ops/bias_add.h"

#include <vector>

#include "base/status_macros.h"
#include "graph/gradient.h"
#include "ops/common/activation.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> Infer(const InferContext& node) {
  const TensorType& x = node.inputs[0];
  RETURN_IF_ERROR(ExpectFloating("x", x));
  RETURN_IF_ERROR(ExpectRankAtLeast("x", x, 2));
  RETURN_IF_ERROR(ExpectChannelVector("bias", node.inputs[1], x));
  RETURN_IF_ERROR(ReadRelu(node.attributes).status());
  return std::vector{x};
}

absl::StatusOr<std::vector<TensorType>> InferGrad(const InferContext& node) {
  const TensorType& dy = node.inputs[0];
  RETURN_IF_ERROR(ExpectFloating("dy", dy));
  RETURN_IF_ERROR(ExpectRankAtLeast("dy", dy, 2));
  return std::vector{
      TensorType{.dtype = dy.dtype, .shape = {dy.shape.dim(-1)}}};
}

absl::StatusOr<std::vector<Tensor>> Gradient(GradientContext& grad) {
  ASSIGN_OR_RETURN(const bool has_relu, ReadRelu(grad.attributes()));
  const Tensor dx =
      has_relu ? grad.Add("ReluGrad", {grad.dy(0), grad.y(0)}) : grad.dy(0);
  return std::vector{dx, grad.Add("BiasAddGrad", {dx})};
}

}  // namespace

Op BiasAdd() {
  return {.def = {.name = "BiasAdd",
                  .inputs = {"x", "bias"},
                  .outputs = {"y"},
                  .attributes = {"activation"},
                  .infer = Infer,
                  .gradient = Gradient,
                  .cost = ElementwiseCost,
                  .in_place = {{.input = 0, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, BiasAddCpu}}};
}

Op BiasAddGrad() {
  return {.def = {.name = "BiasAddGrad",
                  .inputs = {"dy"},
                  .outputs = {"dbias"},
                  .infer = InferGrad,
                  .cost = ElementwiseCost},
          .kernels = {{DeviceKind::kCpu, BiasAddGradCpu}}};
}

}  // namespace spillway::ops
