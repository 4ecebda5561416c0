#include "ops/pointwise/bias_add.h"

#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/activation.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"
#include "ops/common/stated_type.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferBiasAdd(const InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", x));
  SPILLWAY_RETURN_IF_ERROR(ExpectRankAtLeast("x", x, 2));
  SPILLWAY_RETURN_IF_ERROR(ExpectTypeOrFloat32(
      "bias", node.inputs[1], {.dtype = x.dtype, .shape = {x.shape.dim(-1)}},
      "the channels of x"));
  SPILLWAY_RETURN_IF_ERROR(ReadRelu(node.attributes).status());
  return std::vector{x};
}

absl::StatusOr<std::vector<TensorType>> InferBiasAddGrad(
    const InferContext& node) {
  const TensorType& dy = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("dy", dy));
  SPILLWAY_RETURN_IF_ERROR(ExpectRankAtLeast("dy", dy, 2));
  SPILLWAY_ASSIGN_OR_RETURN(const DType dtype,
                            StatedDType(node.attributes, dy.dtype));
  const Shape channels = {dy.shape.dim(-1)};
  const TensorType dbias = {.dtype = dtype, .shape = channels};
  SPILLWAY_RETURN_IF_ERROR(ExpectTypeOrFloat32(
      "dbias", dbias, {.dtype = dy.dtype, .shape = channels},
      "the channels of dy"));
  return std::vector{dbias};
}

absl::StatusOr<std::vector<Tensor>> BiasAddGradient(GradientContext& grad) {
  SPILLWAY_ASSIGN_OR_RETURN(const bool has_relu, ReadRelu(grad.attributes()));
  const Tensor dx =
      has_relu ? grad.Add("ReluGrad", {grad.dy(0), grad.y(0)}) : grad.dy(0);
  const DType dtype = grad.x(1).type().dtype;
  Attributes attributes;
  if (dtype != dx.type().dtype) attributes.Set("dtype", dtype);
  return std::vector{dx, grad.Add("BiasAddGrad", {dx}, attributes)};
}

}  // namespace

Op BiasAdd() {
  return {.def = {.name = "BiasAdd",
                  .inputs = {"x", "bias"},
                  .outputs = {"y"},
                  .attributes = {"activation"},
                  .infer = InferBiasAdd,
                  .gradient = BiasAddGradient,
                  .cost = ElementwiseCost,
                  .in_place = {{.input = 0, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, BiasAddCpu}}};
}

Op BiasAddGrad() {
  return {.def = {.name = "BiasAddGrad",
                  .inputs = {"dy"},
                  .outputs = {"dbias"},
                  .attributes = {"dtype"},
                  .infer = InferBiasAddGrad,
                  .cost = ElementwiseCost},
          .kernels = {{DeviceKind::kCpu, BiasAddGradCpu}}};
}

}  // namespace spillway::ops
