#include "ops/pointwise/add.h"

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "graph/builder/gradient.h"
#include "ops/common/broadcast_dims.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"
#include "ops/common/gradients.h"
#include "ops/common/sum_to.h"

namespace spillway::ops {
namespace {

using Types = std::vector<TensorType>;

absl::StatusOr<Types> InferAny(const InferContext& node) {
  const TensorType& a = node.inputs[0];
  const TensorType& b = node.inputs[1];
  SPILLWAY_RETURN_IF_ERROR(ExpectDType("b", b, a.dtype));
  const std::array<Shape, 2> shapes = {a.shape, b.shape};
  SPILLWAY_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(shapes));
  return Types{{.dtype = a.dtype, .shape = shape}};
}

bool IsOfIntegers(const TensorType& type) {
  return type.dtype == DType::kInt32 || type.dtype == DType::kInt64;
}

absl::StatusOr<Types> InferFloating(const InferContext& node) {
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("a", node.inputs[0]));
  return InferAny(node);
}

absl::StatusOr<Types> InferNumbers(const InferContext& node) {
  return IsOfIntegers(node.inputs[0]) ? InferAny(node) : InferFloating(node);
}

absl::StatusOr<Types> InferIntegers(const InferContext& node) {
  if (IsOfIntegers(node.inputs[0])) return InferAny(node);
  return InvalidArgument(fmt::format("a must be int32 or int64; it is {}",
                                     node.inputs[0].ToString()));
}

Tensor Minus(Tensor x, GradientContext& grad) {
  return grad.Add("Mul", {x, Number(-1, x, grad)});
}

// The gradients of both operands, before they are summed to their shapes.
std::vector<Tensor> SummedTo(Tensor da, Tensor db, GradientContext& grad) {
  return {SumTo(grad.x(0).type(), da, grad), SumTo(grad.x(1).type(), db, grad)};
}

absl::StatusOr<std::vector<Tensor>> AddGradient(GradientContext& grad) {
  return SummedTo(grad.dy(0), grad.dy(0), grad);
}

absl::StatusOr<std::vector<Tensor>> SubGradient(GradientContext& grad) {
  const Tensor db = SumTo(grad.x(1).type(), grad.dy(0), grad);
  return std::vector{SumTo(grad.x(0).type(), grad.dy(0), grad),
                     Minus(db, grad)};
}

absl::StatusOr<std::vector<Tensor>> MulGradient(GradientContext& grad) {
  const Tensor da = grad.Add("Mul", {grad.dy(0), grad.x(1)});
  const Tensor db = grad.Add("Mul", {grad.dy(0), grad.x(0)});
  return SummedTo(da, db, grad);
}

// da = dy / b, db = -y da.
absl::StatusOr<std::vector<Tensor>> RealDivGradient(GradientContext& grad) {
  const Tensor da = grad.Add("RealDiv", {grad.dy(0), grad.x(1)});
  const Tensor db = Minus(grad.Add("Mul", {da, grad.y(0)}), grad);
  return SummedTo(da, db, grad);
}

absl::StatusOr<std::vector<Tensor>> MaximumGradient(GradientContext& grad) {
  const Tensor a = grad.Add("GreaterShare", {grad.x(0), grad.x(1)});
  const Tensor b = grad.Add("GreaterShare", {grad.x(1), grad.x(0)});
  return SummedTo(grad.Add("Mul", {grad.dy(0), a}),
                  grad.Add("Mul", {grad.dy(0), b}), grad);
}

absl::StatusOr<std::vector<Tensor>> MinimumGradient(GradientContext& grad) {
  const Tensor a = grad.Add("GreaterShare", {grad.x(1), grad.x(0)});
  const Tensor b = grad.Add("GreaterShare", {grad.x(0), grad.x(1)});
  return SummedTo(grad.Add("Mul", {grad.dy(0), a}),
                  grad.Add("Mul", {grad.dy(0), b}), grad);
}

// da = dy b a^(b - 1), db = dy y ln a.
absl::StatusOr<std::vector<Tensor>> PowGradient(GradientContext& grad) {
  const Tensor a = grad.x(0);
  const Tensor b = grad.x(1);
  const Tensor less = grad.Add("Sub", {b, Number(1, b, grad)});
  const Tensor slope = grad.Add("Mul", {grad.Add("Pow", {a, less}), b});
  const Tensor least =
      Number(double{std::numeric_limits<float>::min()}, a, grad);
  const Tensor log = grad.Add("Log", {grad.Add("Maximum", {a, least})});
  const Tensor db = grad.Add("Mul", {grad.dy(0), grad.y(0)});
  return SummedTo(grad.Add("Mul", {grad.dy(0), slope}),
                  grad.Add("Mul", {db, log}), grad);
}

// An operation for each element of y.
OpCost BinaryCost(const OpContext& node) {
  return {.flops = static_cast<double>(node.outputs[0].num_elements()),
          .bytes = TouchedBytes(node)};
}

using Infer = absl::StatusOr<Types> (*)(const InferContext&);
using Gradient = absl::StatusOr<std::vector<Tensor>> (*)(GradientContext&);

Op Binary(std::string name, Infer infer, Gradient gradient, KernelFactory cpu) {
  return {.def = {.name = std::move(name),
                  .inputs = {"a", "b"},
                  .outputs = {"y"},
                  .infer = infer,
                  .gradient = gradient,
                  .cost = BinaryCost,
                  .in_place = {{.input = 0, .output = 0},
                               {.input = 1, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, cpu}}};
}

}  // namespace

Op Add() { return Binary("Add", InferNumbers, AddGradient, AddCpu); }
Op GreaterShare() {
  return Binary("GreaterShare", InferFloating, nullptr, GreaterShareCpu);
}
Op Maximum() {
  return Binary("Maximum", InferFloating, MaximumGradient, MaximumCpu);
}
Op Minimum() {
  return Binary("Minimum", InferFloating, MinimumGradient, MinimumCpu);
}
Op Mul() { return Binary("Mul", InferNumbers, MulGradient, MulCpu); }
Op Pow() { return Binary("Pow", InferFloating, PowGradient, PowCpu); }
Op RealDiv() {
  return Binary("RealDiv", InferFloating, RealDivGradient, RealDivCpu);
}
Op Sub() { return Binary("Sub", InferNumbers, SubGradient, SubCpu); }
Op TruncateDiv() {
  return Binary("TruncateDiv", InferIntegers, nullptr, TruncateDivCpu);
}

}  // namespace spillway::ops
