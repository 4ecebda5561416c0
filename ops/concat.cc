#include "ops/concat.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/gradient.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

absl::StatusOr<std::vector<TensorType>> Infer(const InferContext& node) {
  const TensorType& first = node.inputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t axis, node.attributes.GetInt("axis"));
  SPILLWAY_ASSIGN_OR_RETURN(const int resolved,
                            ResolveAxis(axis, first.shape.rank()));
  const auto along = static_cast<size_t>(resolved);
  std::vector<int64_t> dims = first.shape.dims();
  dims[along] = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorType& x = node.inputs[i];
    std::vector<int64_t> expected = first.shape.dims();
    if (x.shape.rank() == first.shape.rank()) {
      expected[along] = x.shape.dims()[along];
    }
    if (x.dtype != first.dtype || x.shape.dims() != expected) {
      return InvalidArgument(fmt::format(
          "x{} must be as x1, which is {}, but for dimension {}; it is {}",
          i + 1, first.ToString(), resolved, x.ToString()));
    }
    dims[along] += x.shape.dims()[along];
  }
  return std::vector{
      TensorType{.dtype = first.dtype, .shape = Shape(std::move(dims))}};
}

absl::StatusOr<std::vector<Tensor>> Gradient(GradientContext& grad) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t axis,
                            grad.attributes().GetInt("axis"));
  const int rank = grad.y(0).shape().rank();
  SPILLWAY_ASSIGN_OR_RETURN(const int resolved, ResolveAxis(axis, rank));
  std::vector<int64_t> begin(static_cast<size_t>(rank), 0);
  std::vector<Tensor> gradients;
  for (int i = 0; i < grad.num_inputs(); ++i) {
    const Shape size = grad.x(i).shape();
    gradients.push_back(
        grad.Add("Slice", {grad.dy(0)}, {{"begin", begin}, {"size", size}}));
    begin[static_cast<size_t>(resolved)] += size.dim(resolved);
  }
  return gradients;
}

}  // namespace

Op Concat() {
  return {.def = {.name = "Concat",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .variadic = true,
                  .attributes = {"axis"},
                  .infer = Infer,
                  .gradient = Gradient},
          .kernels = {{DeviceKind::kCpu, ConcatCpu}}};
}

absl::StatusOr<std::vector<StridedCopy>> ConcatCopies(
    const KernelRequest& node) {
  const TensorType& y = node.outputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t axis, node.attributes.GetInt("axis"));
  SPILLWAY_ASSIGN_OR_RETURN(const int resolved,
                            ResolveAxis(axis, y.shape.rank()));
  const std::vector<int64_t> strides = RowMajorStrides(y.shape);
  std::vector<StridedCopy> copies;
  int64_t start = 0;
  for (const TensorType& x : node.inputs) {
    copies.push_back({.sizes = x.shape.dims(),
                      .from_strides = RowMajorStrides(x.shape),
                      .to_strides = strides,
                      .element_bytes = SizeOf(y.dtype),
                      .to_start = start});
    start += x.shape.dim(resolved) * strides[static_cast<size_t>(resolved)];
  }
  return copies;
}

}  // namespace spillway::ops
