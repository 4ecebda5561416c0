#include "ops/array/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/status_macros.h"
#include "graph/builder/gradient.h"
#include "ops/common/broadcast_dims.h"
#include "ops/common/expect.h"
#include "ops/common/sum_to.h"

namespace spillway::ops {
namespace {

// Keeps the sum of dimensions far from overflow.
constexpr int64_t kMostRoom = int64_t{1} << 46;

// The sum of the xs' dimensions `axis`; all else is as in `like`, which has the
// name `name`.
absl::StatusOr<int64_t> JoinedSize(std::span<const TensorType> xs, int axis,
                                   const TensorType& like,
                                   std::string_view name) {
  const auto along = static_cast<size_t>(axis);
  int64_t size = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    const TensorType& x = xs[i];
    std::vector<int64_t> expected = like.shape.dims();
    if (x.shape.rank() == like.shape.rank()) {
      expected[along] = x.shape.dims()[along];
    }
    if (x.dtype != like.dtype || x.shape.dims() != expected) {
      return InvalidArgument(fmt::format(
          "x{} must be as {}, which is {}, except in dimension {}; it is {}",
          i + 1, name, like.ToString(), axis, x.ToString()));
    }
    size += x.shape.dims()[along];
  }
  return size;
}

absl::StatusOr<int> AxisOf(const Attributes& attributes, const TensorType& y) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t axis, attributes.GetInt("axis"));
  return ResolveAxis(axis, y.shape.rank());
}

absl::StatusOr<std::vector<TensorType>> InferConcat(const InferContext& node) {
  const TensorType& first = node.inputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, AxisOf(node.attributes, first));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t room,
                            node.attributes.GetInt("room", 0));
  if (room < 0 || room > kMostRoom) {
    return InvalidArgument(
        fmt::format("attribute 'room' is {}: negative or too large", room));
  }
  std::vector<int64_t> dims = first.shape.dims();
  int64_t& size = dims[static_cast<size_t>(axis)];
  SPILLWAY_ASSIGN_OR_RETURN(size, JoinedSize(node.inputs, axis, first, "x1"));
  size += room;
  return std::vector{
      TensorType{.dtype = first.dtype, .shape = Shape(std::move(dims))}};
}

absl::StatusOr<std::vector<Tensor>> ConcatGradient(GradientContext& grad) {
  SPILLWAY_ASSIGN_OR_RETURN(const int axis,
                            AxisOf(grad.attributes(), grad.y(0).type()));
  const int rank = grad.y(0).shape().rank();
  std::vector<int64_t> begin(static_cast<size_t>(rank), 0);
  std::vector<Tensor> gradients;
  for (int i = 0; i < grad.num_inputs(); ++i) {
    const Shape size = grad.x(i).shape();
    gradients.push_back(
        grad.Add("Slice", {grad.dy(0)}, {{"begin", begin}, {"size", size}}));
    begin[static_cast<size_t>(axis)] += size.dim(axis);
  }
  return gradients;
}

}  // namespace

Op Concat() {
  return {.def = {.name = "Concat",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .variadic = true,
                  .attributes = {"axis", "room"},
                  .infer = InferConcat,
                  .gradient = ConcatGradient},
          .kernels = {{DeviceKind::kCpu, ConcatCpu}}};
}

namespace {

absl::StatusOr<std::vector<TensorType>> InferConcatInto(
    const InferContext& node) {
  const TensorType& base = node.inputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, AxisOf(node.attributes, base));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t begin,
                            node.attributes.GetInt("begin"));
  SPILLWAY_ASSIGN_OR_RETURN(
      const int64_t size,
      JoinedSize(node.inputs.subspan(1), axis, base, "base"));
  if (begin < 0 || begin > base.shape.dim(axis) ||
      size > base.shape.dim(axis) - begin) {
    return InvalidArgument(
        fmt::format("{} elements from {} do not lie in dimension {} of {}",
                    size, begin, axis, base.ToString()));
  }
  return std::vector{base};
}

// As in place: base is not touched.
OpCost ConcatIntoCost(const OpContext& node) {
  OpCost cost;
  for (const TensorType& x : node.inputs.subspan(1)) {
    cost.bytes += 2 * x.num_bytes();
  }
  return cost;
}

}  // namespace

Op ConcatInto() {
  return {.def = {.name = "ConcatInto",
                  .inputs = {"base", "x"},
                  .outputs = {"y"},
                  .variadic = true,
                  .attributes = {"axis", "begin"},
                  .infer = InferConcatInto,
                  .cost = ConcatIntoCost,
                  .in_place = {{.input = 0, .output = 0}}},
          .kernels = {{DeviceKind::kCpu, ConcatIntoCpu}}};
}

namespace {

// The xs one after the other from `begin` on.
absl::StatusOr<std::vector<StridedCopy>> JoiningCopies(
    const KernelRequest& node, std::span<const TensorType> xs, int64_t begin) {
  const TensorType& y = node.outputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, AxisOf(node.attributes, y));
  const std::vector<int64_t> strides = RowMajorStrides(y.shape);
  std::vector<StridedCopy> copies;
  for (const TensorType& x : xs) {
    copies.push_back({.sizes = x.shape.dims(),
                      .from_strides = RowMajorStrides(x.shape),
                      .to_strides = strides,
                      .element_bytes = SizeOf(y.dtype),
                      .to_start = begin * strides[static_cast<size_t>(axis)]});
    begin += x.shape.dim(axis);
  }
  return copies;
}

}  // namespace

absl::StatusOr<std::vector<StridedCopy>> ConcatCopies(
    const KernelRequest& node) {
  return JoiningCopies(node, node.inputs, 0);
}

absl::StatusOr<std::vector<StridedCopy>> ConcatIntoCopies(
    const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t begin,
                            node.attributes.GetInt("begin"));
  return JoiningCopies(node, node.inputs.subspan(1), begin);
}

namespace {

absl::StatusOr<std::vector<TensorType>> InferBroadcastTo(
    const InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(Shape shape, node.attributes.GetShape("shape"));
  const std::array<Shape, 2> shapes = {x.shape, shape};
  const absl::StatusOr<Shape> common = BroadcastShape(shapes);
  if (!common.ok() || *common != shape) {
    return InvalidArgument(fmt::format("x cannot be repeated to {}; it is {}",
                                       shape.ToString(), x.ToString()));
  }
  return std::vector{TensorType{.dtype = x.dtype, .shape = std::move(shape)}};
}

absl::StatusOr<std::vector<Tensor>> BroadcastToGradient(GradientContext& grad) {
  return std::vector{SumTo(grad.x(0).type(), grad.dy(0), grad)};
}

}  // namespace

Op BroadcastTo() {
  return {.def = {.name = "BroadcastTo",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = {"shape"},
                  .infer = InferBroadcastTo,
                  .gradient = BroadcastToGradient},
          .kernels = {{DeviceKind::kCpu, BroadcastToCpu}}};
}

StridedCopy BroadcastToCopy(const KernelRequest& node) {
  const Shape& x = node.inputs[0].shape;
  const Shape& y = node.outputs[0].shape;
  StridedCopy copy = {.sizes = y.dims(),
                      .from_strides = std::vector<int64_t>(y.dims().size(), 0),
                      .to_strides = RowMajorStrides(y),
                      .element_bytes = SizeOf(node.inputs[0].dtype)};
  const std::vector<int64_t> strides = RowMajorStrides(x);
  const size_t first = y.dims().size() - strides.size();
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    if (x.dims()[axis] == 1) continue;
    copy.from_strides[first + axis] = strides[axis];
  }
  return copy;
}

namespace {

absl::Status CheckLength(const std::vector<int64_t>& list,
                         std::string_view name, const TensorType& x) {
  if (static_cast<int>(list.size()) == x.shape.rank()) return absl::OkStatus();
  return InvalidArgument(fmt::format("attribute '{}' has {} items; x is {}",
                                     name, list.size(), x.ToString()));
}

absl::StatusOr<std::vector<TensorType>> InferSlice(const InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> begin,
                            node.attributes.GetInts("begin"));
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<int64_t> size,
                            node.attributes.GetInts("size"));
  SPILLWAY_RETURN_IF_ERROR(CheckLength(begin, "begin", x));
  SPILLWAY_RETURN_IF_ERROR(CheckLength(size, "size", x));
  for (size_t axis = 0; axis < size.size(); ++axis) {
    const int64_t dim = x.shape.dims()[axis];
    const bool begins_inside = begin[axis] >= 0 && begin[axis] < dim;
    if (begins_inside && size[axis] == -1) size[axis] = dim - begin[axis];
    if (!begins_inside || size[axis] < 1 || size[axis] > dim - begin[axis]) {
      return InvalidArgument(
          fmt::format("{} elements from {} do not lie in dimension {} of {}",
                      size[axis], begin[axis], axis, x.ToString()));
    }
  }
  return std::vector{
      TensorType{.dtype = x.dtype, .shape = Shape(std::move(size))}};
}

absl::StatusOr<std::vector<Tensor>> SliceGradient(GradientContext& grad) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> begin,
                            grad.attributes().GetInts("begin"));
  AttributeValue::List paddings;
  for (size_t axis = 0; axis < begin.size(); ++axis) {
    const int64_t after = grad.x(0).shape().dims()[axis] - begin[axis] -
                          grad.y(0).shape().dims()[axis];
    paddings.push_back(std::vector<int64_t>{begin[axis], after});
  }
  return std::vector{
      grad.Add("Pad", {grad.dy(0)}, {{"paddings", std::move(paddings)}})};
}

}  // namespace

Op Slice() {
  return {.def = {.name = "Slice",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = {"begin", "size"},
                  .infer = InferSlice,
                  .gradient = SliceGradient,
                  .cost = [](const OpContext& node) -> OpCost {
                    return {.bytes = 2 * node.outputs[0].num_bytes()};
                  }},
          .kernels = {{DeviceKind::kCpu, SliceCpu}}};
}

absl::StatusOr<StridedCopy> SliceCopy(const KernelRequest& node) {
  const TensorType& x = node.inputs[0];
  const Shape& y = node.outputs[0].shape;
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> begin,
                            node.attributes.GetInts("begin"));
  StridedCopy copy = {.sizes = y.dims(),
                      .from_strides = RowMajorStrides(x.shape),
                      .to_strides = RowMajorStrides(y),
                      .element_bytes = SizeOf(x.dtype)};
  for (size_t axis = 0; axis < begin.size(); ++axis) {
    copy.from_start += begin[axis] * copy.from_strides[axis];
  }
  return copy;
}

namespace {

absl::StatusOr<std::vector<TensorType>> InferTranspose(
    const InferContext& node) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> perm,
                            node.attributes.GetInts("perm"));
  std::vector<int64_t> sorted = perm;
  std::ranges::sort(sorted);
  bool is_permutation = static_cast<int>(perm.size()) == x.shape.rank();
  for (size_t i = 0; i < sorted.size(); ++i) {
    is_permutation = is_permutation && sorted[i] == static_cast<int64_t>(i);
  }
  if (!is_permutation) {
    return InvalidArgument(fmt::format(
        "attribute 'perm' must order the {} of x; it is [{}]",
        Counted(x.shape.rank(), "dimension"), fmt::join(perm, ", ")));
  }
  std::vector<int64_t> dims;
  for (const int64_t axis : perm) {
    dims.push_back(x.shape.dim(static_cast<int>(axis)));
  }
  return std::vector{
      TensorType{.dtype = x.dtype, .shape = Shape(std::move(dims))}};
}

absl::StatusOr<std::vector<Tensor>> TransposeGradient(GradientContext& grad) {
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> perm,
                            grad.attributes().GetInts("perm"));
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  }
  return std::vector{grad.Add("Transpose", {grad.dy(0)}, {{"perm", inverse}})};
}

}  // namespace

Op Transpose() {
  return {.def = {.name = "Transpose",
                  .inputs = {"x"},
                  .outputs = {"y"},
                  .attributes = {"perm"},
                  .infer = InferTranspose,
                  .gradient = TransposeGradient},
          .kernels = {{DeviceKind::kCpu, TransposeCpu}}};
}

absl::StatusOr<StridedCopy> TransposeCopy(const KernelRequest& node) {
  const TensorType& x = node.inputs[0];
  const Shape& y = node.outputs[0].shape;
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<int64_t> perm,
                            node.attributes.GetInts("perm"));
  const std::vector<int64_t> x_strides = RowMajorStrides(x.shape);
  std::vector<int64_t> from_strides;
  for (const int64_t axis : perm) {
    from_strides.push_back(x_strides[static_cast<size_t>(axis)]);
  }
  return StridedCopy{.sizes = y.dims(),
                     .from_strides = std::move(from_strides),
                     .to_strides = RowMajorStrides(y),
                     .element_bytes = SizeOf(x.dtype)};
}

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

absl::StatusOr<std::vector<TensorType>> InferPad(const InferContext& node) {
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

absl::StatusOr<std::vector<Tensor>> PadGradient(GradientContext& grad) {
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
                  .infer = InferPad,
                  .gradient = PadGradient},
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
