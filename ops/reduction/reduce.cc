#include "ops/reduction/reduce.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"
#include "ops/common/expect.h"

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

Op ReductionOp(const std::string& name, KernelFactory cpu) {
  const auto gradient =
      [name](GradientContext& grad) -> absl::StatusOr<std::vector<Tensor>> {
    Attributes attributes = grad.attributes();
    attributes.Set("input_shape", grad.x(0).shape());
    return std::vector{
        grad.Add(name + "Grad", {grad.dy(0)}, std::move(attributes))};
  };
  return {.def = {.name = name,
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = {"axes", "keep_dims"},
                  .infer = InferReduce,
                  .gradient = gradient,
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

Op Mean() { return ReductionOp("Mean", MeanCpu); }
Op MeanGrad() { return ReductionGrad("MeanGrad", MeanGradCpu); }
Op Sum() { return ReductionOp("Sum", SumCpu); }
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
