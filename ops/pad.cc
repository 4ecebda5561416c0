#include "ops/pad.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/gradient.h"
#include "ops/common/expect.h"

namespace spillway::ops {
namespace {

// Keeps the sum of a dimension and its paddings far from overflow.
constexpr int64_t kMostPadding = int64_t{1} << 46;

absl::StatusOr<Shape> PaddedShape(const TensorType& x,
                                  const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<std::vector<int64_t>> paddings,
                            attributes.GetIntLists("paddings"));
  if (static_cast<int>(paddings.size()) != x.shape.rank()) {
    return InvalidArgument(
        fmt::format("attribute 'paddings' has {} items; x "
                    "is {}",
                    paddings.size(), x.ToString()));
  }
  std::vector<int64_t> dims = x.shape.dims();
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (paddings[axis].size() != 2) {
      return InvalidArgument(fmt::format(
          "item {} of attribute 'paddings' must be [before, after]", axis));
    }
    for (const int64_t padding : paddings[axis]) {
      if (padding < 0 || padding > kMostPadding) {
        return InvalidArgument(
            fmt::format("padding {} of dimension {} is negative or too large",
                        padding, axis));
      }
      dims[axis] += padding;
    }
  }
  return Shape(std::move(dims));
}

absl::StatusOr<std::vector<TensorType>> Infer(const InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(Shape shape, PaddedShape(x, node.attributes));
  SPILLWAY_ASSIGN_OR_RETURN(const double value,
                            node.attributes.GetReal("value", 0));
  if (value != 0 && !IsFloating(x.dtype)) {
    return InvalidArgument(
        fmt::format("attribute 'value' must be 0 for x of {}; it is {}",
                    x.ToString(), value));
  }
  return std::vector{TensorType{.dtype = x.dtype, .shape = std::move(shape)}};
}

absl::StatusOr<std::vector<Tensor>> Gradient(GradientContext& grad) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<std::vector<int64_t>> paddings,
                            grad.attributes().GetIntLists("paddings"));
  std::vector<int64_t> begin;
  for (const std::vector<int64_t>& padding : paddings) {
    begin.push_back(padding[0]);
  }
  return std::vector{grad.Add("Slice", {grad.dy(0)},
                              {{"begin", begin}, {"size", grad.x(0).shape()}})};
}

}  // namespace

Op Pad() {
  return {.def = {.name = "Pad",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = {"paddings", "value"},
                  .infer = Infer,
                  .gradient = Gradient},
          .kernels = {{DeviceKind::kCpu, PadCpu}}};
}

absl::StatusOr<StridedCopy> PadCopy(const KernelRequest& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<std::vector<int64_t>> paddings,
                            node.attributes.GetIntLists("paddings"));
  StridedCopy copy = {.sizes = x.shape.dims(),
                      .from_strides = RowMajorStrides(x.shape),
                      .to_strides = RowMajorStrides(node.outputs[0].shape),
                      .element_bytes = SizeOf(x.dtype)};
  for (size_t axis = 0; axis < paddings.size(); ++axis) {
    copy.to_start += paddings[axis][0] * copy.to_strides[axis];
  }
  return copy;
}

}  // namespace spillway::ops
