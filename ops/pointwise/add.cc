#include "ops/pointwise/add.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"
#include "ops/common/sum_to.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> InferAdd(const InferContext& node) {
  const TensorType& a = node.inputs[0];
  const TensorType& b = node.inputs[1];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("a", a));
  const bool is_channel_vector = b.shape.rank() == 1 && a.shape.rank() > 0 &&
                                 b.shape.dim(0) == a.shape.dim(-1);
  const bool fits =
      b.shape == a.shape || b.shape.rank() == 0 || is_channel_vector;
  if (b.dtype != a.dtype || !fits) {
    return InvalidArgument(fmt::format(
        "b must be of the type of a, which is {}, or a scalar, or a vector of "
        "its last dimension; it is {}",
        a.ToString(), b.ToString()));
  }
  return std::vector{a};
}

absl::StatusOr<std::vector<Tensor>> AddGradient(GradientContext& grad) {
  return std::vector{grad.dy(0), SumTo(grad.x(1).type(), grad.dy(0), grad)};
}

absl::StatusOr<std::vector<Tensor>> SubGradient(GradientContext& grad) {
  const TensorType& b = grad.x(1).type();
  const Tensor minus_one = grad.Add(
      "Const", {}, {{"dtype", b.dtype}, {"shape", Shape()}, {"value", -1}});
  const Tensor db = SumTo(b, grad.dy(0), grad);
  return std::vector{grad.dy(0), grad.Add("Mul", {db, minus_one})};
}

absl::StatusOr<std::vector<Tensor>> MulGradient(GradientContext& grad) {
  const Tensor a = grad.x(0);
  const Tensor b = grad.x(1);
  const Tensor da = grad.Add("Mul", {grad.dy(0), b});
  const Tensor dy_a = grad.Add("Mul", {grad.dy(0), a});
  return std::vector{da, SumTo(b.type(), dy_a, grad)};
}

using Gradient = absl::StatusOr<std::vector<Tensor>> (*)(GradientContext&);

Op Binary(std::string name, Gradient gradient, KernelFactory cpu) {
  return {.def = {.name = std::move(name),
                  .inputs = {"a", "b"},
                  .outputs = {"y"},
                  .infer = InferAdd,
                  .gradient = gradient,
                  .cost = ElementwiseCost,
                  .in_place = {{.input = 0, .output = 0},
                               {.input = 1, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, cpu}}};
}

}  // namespace

Op Add() { return Binary("Add", AddGradient, AddCpu); }
Op Mul() { return Binary("Mul", MulGradient, MulCpu); }
Op Sub() { return Binary("Sub", SubGradient, SubCpu); }

}  // namespace spillway::ops
