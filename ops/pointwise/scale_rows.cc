#include "ops/pointwise/scale_rows.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferScaleRows(
    const InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", x));
  SPILLWAY_RETURN_IF_ERROR(ExpectRankAtLeast("x", x, 1));
  SPILLWAY_RETURN_IF_ERROR(ExpectTypeOrFloat32(
      "scale", node.inputs[1], {.dtype = x.dtype, .shape = {x.shape.dim(0)}},
      "the rows of x"));
  return std::vector{x};
}

absl::StatusOr<std::vector<Tensor>> ScaleRowsGradient(GradientContext& grad) {
  const Tensor dx = grad.Add("ScaleRows", {grad.dy(0), grad.x(1)});
  const DType dtype = grad.x(1).type().dtype;
  Tensor dy_x = grad.Add("Mul", {grad.dy(0), grad.x(0)});
  if (dtype != dy_x.type().dtype) {
    dy_x = grad.Add("Cast", {dy_x}, {{"dtype", dtype}});
  }
  std::vector<int64_t> axes(static_cast<size_t>(dy_x.shape().rank()) - 1);
  std::iota(axes.begin(), axes.end(), 1);
  return std::vector{dx, grad.Add("Sum", {dy_x}, {{"axes", axes}})};
}

}  // namespace

Op ScaleRows() {
  return {.def = {.name = "ScaleRows",
                  .inputs = {"x", "scale"},
                  .outputs = {"y"},
                  .infer = InferScaleRows,
                  .gradient = ScaleRowsGradient,
                  .cost = ElementwiseCost,
                  .in_place = {{.input = 0, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, ScaleRowsCpu}}};
}

}  // namespace spillway::ops
