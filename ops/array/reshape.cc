#include "ops/array/reshape.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/cost.h"

namespace spillway::ops {
namespace {

absl::Status Mismatch(const TensorType& x, const Shape& shape) {
  return InvalidArgument(
      fmt::format("shape {} does not hold the {} elements "
                  "of {}",
                  shape.ToString(), x.num_elements(), x.ToString()));
}

// Replaces the -1 in `dims`, if there is one.
absl::Status ResolveFreeDimension(const TensorType& x,
                                  std::vector<int64_t>& dims) {
  const auto free = std::ranges::find(dims, -1);
  if (free == dims.end()) return absl::OkStatus();
  if (std::ranges::count(dims, -1) > 1) {
    return InvalidArgument(
        fmt::format("shape {} has more than one -1", Shape(dims).ToString()));
  }
  std::vector<int64_t> others = dims;
  std::erase(others, -1);
  const Shape rest(std::move(others));
  SPILLWAY_RETURN_IF_ERROR(Annotate(CheckShape(rest), "attribute 'shape'"));
  if (x.num_elements() % rest.num_elements() != 0) {
    return Mismatch(x, Shape(dims));
  }
  *free = x.num_elements() / rest.num_elements();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TensorType>> InferReshape(const InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<int64_t> dims,
                            node.attributes.GetInts("shape"));
  SPILLWAY_RETURN_IF_ERROR(ResolveFreeDimension(x, dims));
  Shape shape(std::move(dims));
  SPILLWAY_RETURN_IF_ERROR(Annotate(CheckShape(shape), "attribute 'shape'"));
  if (shape.num_elements() != x.num_elements()) return Mismatch(x, shape);
  return std::vector{TensorType{.dtype = x.dtype, .shape = std::move(shape)}};
}

absl::StatusOr<std::vector<Tensor>> ReshapeGradient(GradientContext& grad) {
  return std::vector{
      grad.Add("Reshape", {grad.dy(0)}, {{"shape", grad.x(0).shape()}})};
}

}  // namespace

Op Reshape() {
  return {.def = {.name = "Reshape",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = {"shape"},
                  .infer = InferReshape,
                  .gradient = ReshapeGradient,
                  .cost = NoCost,
                  .alias = {{.input = 0, .output = 0}}}};
}

}  // namespace spillway::ops
