#include "ops/reduction/reduce.h"

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"
#include "ops/common/gradients.h"

namespace spillway::ops {
namespace {

absl::StatusOr<Shape> ReducedShape(const Attributes& attributes,
                                   const Shape& x) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<bool> is_reduced,
                            ReducedAxes(attributes, x));
  SPILLWAY_ASSIGN_OR_RETURN(const bool keep_dims,
                            attributes.GetBool("keep_dims", false));
  std::vector<int64_t> dims;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool reduced = is_reduced[static_cast<size_t>(axis)];
    if (!reduced) dims.push_back(x.dim(axis));
    if (reduced && keep_dims) dims.push_back(1);
  }
  return Shape(std::move(dims));
}

absl::StatusOr<std::vector<TensorType>> InferReduce(const InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("x", x));
  SPILLWAY_ASSIGN_OR_RETURN(Shape shape,
                            ReducedShape(node.attributes, x.shape));
  return std::vector{TensorType{.dtype = x.dtype, .shape = std::move(shape)}};
}

absl::StatusOr<std::vector<TensorType>> InferReduceGrad(
    const InferContext& node) {
  const TensorType& dy = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(ExpectFloating("dy", dy));
  SPILLWAY_ASSIGN_OR_RETURN(Shape x, node.attributes.GetShape("input_shape"));
  SPILLWAY_ASSIGN_OR_RETURN(Shape y, ReducedShape(node.attributes, x));
  SPILLWAY_RETURN_IF_ERROR(ExpectType(
      "dy", dy, {.dtype = dy.dtype, .shape = std::move(y)}, "the reduced x"));
  return std::vector{TensorType{.dtype = dy.dtype, .shape = std::move(x)}};
}

using ReductionGradient =
    std::function<absl::StatusOr<std::vector<Tensor>>(GradientContext&)>;

// By an op of dy alone.
ReductionGradient GradientBy(std::string op) {
  return [op = std::move(op)](
             GradientContext& grad) -> absl::StatusOr<std::vector<Tensor>> {
    Attributes attributes = grad.attributes();
    attributes.Set("input_shape", grad.x(0).shape());
    return std::vector{grad.Add(op, {grad.dy(0)}, std::move(attributes))};
  };
}

// y or dy with size 1 for the reduced dimensions, so that it is repeated over
// x.
absl::StatusOr<Tensor> WithReducedDims(Tensor y, GradientContext& grad) {
  Attributes attributes = grad.attributes();
  attributes.Set("keep_dims", true);
  SPILLWAY_ASSIGN_OR_RETURN(const Shape shape,
                            ReducedShape(attributes, grad.x(0).shape()));
  return shape == y.shape() ? y : grad.Add("Reshape", {y}, {{"shape", shape}});
}

Tensor SumKeepingDims(Tensor x, GradientContext& grad) {
  Attributes attributes = grad.attributes();
  attributes.Set("keep_dims", true);
  return grad.Add("Sum", {x}, std::move(attributes));
}

// dx = dy / (number of elements that equal y), for those.
absl::StatusOr<std::vector<Tensor>> ExtremeGradient(GradientContext& grad) {
  const Tensor x = grad.x(0);
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor y, WithReducedDims(grad.y(0), grad));
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor dy, WithReducedDims(grad.dy(0), grad));
  const Tensor is_y = grad.Add("Equal", {x, y});
  const Tensor count =
      SumKeepingDims(grad.Add("Cast", {is_y}, {{"dtype", x.dtype()}}), grad);
  const Tensor share = grad.Add("RealDiv", {dy, count});
  return std::vector{grad.Add("Select", {is_y, share, Number(0, x, grad)})};
}

// dx = dy times the product of the others. With p the product without zeros:
// dy p / x where there is no zero, dy p for a zero that is the only one, else
// 0.
absl::StatusOr<std::vector<Tensor>> ProdGradient(GradientContext& grad) {
  const Tensor x = grad.x(0);
  const Tensor one = Number(1, x, grad);
  const Tensor zero = Number(0, x, grad);
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor dy, WithReducedDims(grad.dy(0), grad));
  const Tensor is_zero = grad.Add("Equal", {x, zero});
  const Tensor others = grad.Add("Select", {is_zero, one, x});
  Attributes keep = grad.attributes();
  keep.Set("keep_dims", true);
  const Tensor p =
      grad.Add("Mul", {grad.Add("Prod", {others}, std::move(keep)), dy});
  const Tensor zeros =
      SumKeepingDims(grad.Add("Cast", {is_zero}, {{"dtype", x.dtype()}}), grad);
  const Tensor of_zero =
      grad.Add("Select", {grad.Add("Equal", {zeros, one}), p, zero});
  const Tensor of_others =
      grad.Add("Select", {grad.Add("Equal", {zeros, zero}), p, zero});
  return std::vector{grad.Add(
      "Select", {is_zero, of_zero, grad.Add("RealDiv", {of_others, others})})};
}

Op ReductionOp(const std::string& name, ReductionGradient gradient,
               KernelFactory cpu) {
  return {.def = {.name = name,
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = {"axes", "keep_dims"},
                  .infer = InferReduce,
                  .gradient = std::move(gradient),
                  .cost = ElementwiseCost},
          .kernels = {{DeviceKind::kCpu, cpu}}};
}

Op ReductionGrad(std::string name, KernelFactory cpu) {
  return {.def = {.name = std::move(name),
                  .inputs = {"dy"},
                  .outputs = {"dx"},
                  .attributes = {"axes", "keep_dims", "input_shape"},
                  .infer = InferReduceGrad,
                  .cost = ElementwiseCost},
          .kernels = {{DeviceKind::kCpu, cpu}}};
}

}  // namespace

Op Max() { return ReductionOp("Max", ExtremeGradient, MaxCpu); }
Op Mean() { return ReductionOp("Mean", GradientBy("MeanGrad"), MeanCpu); }
Op MeanGrad() { return ReductionGrad("MeanGrad", MeanGradCpu); }
Op Min() { return ReductionOp("Min", ExtremeGradient, MinCpu); }
Op Prod() { return ReductionOp("Prod", ProdGradient, ProdCpu); }
Op Sum() { return ReductionOp("Sum", GradientBy("SumGrad"), SumCpu); }
Op SumGrad() { return ReductionGrad("SumGrad", SumGradCpu); }

absl::StatusOr<std::vector<bool>> ReducedAxes(const Attributes& attributes,
                                              const Shape& x) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> axes,
                            attributes.GetInts("axes"));
  std::vector<bool> is_reduced(static_cast<size_t>(x.rank()), false);
  for (const int64_t axis : axes) {
    SPILLWAY_ASSIGN_OR_RETURN(const int resolved, ResolveAxis(axis, x.rank()));
    if (is_reduced[static_cast<size_t>(resolved)]) {
      return InvalidArgument(
          fmt::format("attribute 'axes' names dimension {} twice", resolved));
    }
    is_reduced[static_cast<size_t>(resolved)] = true;
  }
  return is_reduced;
}

int64_t ReducedElements(const std::vector<bool>& is_reduced, const Shape& x) {
  int64_t elements = 1;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (is_reduced[static_cast<size_t>(axis)]) elements *= x.dim(axis);
  }
  return elements;
}

}  // namespace spillway::ops
