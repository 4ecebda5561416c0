#include "onnx_model/op_family/axes.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace spillway::onnx_model {

namespace {

using Sizes = std::vector<int64_t>;

// The tensor as [outer, n, inner], where n is this axis.
struct AxisView {
  int64_t outer = 1;
  int64_t inner = 1;
};

AxisView ViewOf(const Shape& shape, int axis) {
  AxisView view;
  for (int i = 0; i < axis; ++i) view.outer *= shape.dim(i);
  for (int i = axis + 1; i < shape.rank(); ++i) view.inner *= shape.dim(i);
  return view;
}

Tensor ReshapedTo(NodeConversion& node, Tensor x, std::vector<int64_t> dims) {
  return node.Helper("Reshape", {x}, {{"shape", Shape(std::move(dims))}});
}

std::vector<int64_t> DimsWith(const Shape& shape, int axis, int64_t size) {
  Sizes dims = shape.dims();
  dims[static_cast<size_t>(axis)] = size;
  return dims;
}

}  // namespace

absl::StatusOr<Arranged> WithAxes(NodeConversion& node, int input,
                                  const std::vector<int>& dims) {
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(input));
  if (!x.tensor.is_valid()) return x;
  const bool has_all = std::ranges::all_of(
      dims, [&](int dim) { return x.OnlyAxis(dim).has_value(); });
  if (has_all) return x;
  return AsIs(Ordered(node.scope(), x, Identity(x.rank())));
}

std::vector<int64_t> TensorAxes(const Arranged& x,
                                const std::vector<int>& dims) {
  Sizes axes;
  for (const int dim : dims) {
    const std::vector<int>& of_dim = x.axes[static_cast<size_t>(dim)];
    axes.insert(axes.end(), of_dim.begin(), of_dim.end());
  }
  std::ranges::sort(axes);
  return axes;
}

void SetDim(Arranged& x, int dim, int64_t size) {
  Sizes dims = x.dims.dims();
  dims[static_cast<size_t>(dim)] = size;
  x.dims = Shape(dims);
}

Arranged SliceOf(NodeConversion& node, Arranged x, int dim, int64_t begin,
                 int64_t size) {
  const Shape shape = x.tensor.shape();
  Sizes begins(static_cast<size_t>(shape.rank()), 0);
  Sizes sizes = shape.dims();
  const auto axis = static_cast<size_t>(*x.OnlyAxis(dim));
  begins[axis] = begin;
  sizes[axis] = size;
  x.tensor =
      node.Add("Slice", {x.tensor}, {{"begin", begins}, {"size", sizes}});
  SetDim(x, dim, size);
  return x;
}

Tensor IndexList(NodeConversion& node, const std::vector<int64_t>& indices,
                 Shape shape) {
  AttributeValue::List values(indices.size());
  for (size_t i = 0; i < indices.size(); ++i) values[i] = indices[i];
  return node.Helper("Const", {},
                     {{"dtype", DType::kInt32},
                      {"shape", std::move(shape)},
                      {"values", std::move(values)}});
}

Tensor GatherRows(NodeConversion& node, Tensor x, Tensor indices, int axis) {
  if (!x.is_valid()) return x;
  const DType dtype = x.dtype();
  const bool is_narrow = dtype == DType::kBFloat16 || dtype == DType::kFloat16;
  if (is_narrow) x = node.Helper("Cast", {x}, {{"dtype", DType::kFloat32}});
  x = node.Add("Gather", {x, indices}, {{"axis", int64_t{axis}}});
  return is_narrow ? node.Helper("Cast", {x}, {{"dtype", dtype}}) : x;
}

Tensor RepeatElements(NodeConversion& node, Tensor x, int axis, int64_t times) {
  const AxisView view = ViewOf(x.shape(), axis);
  const int64_t n = x.shape().dim(axis);
  const Tensor apart = ReshapedTo(node, x, {view.outer * n, 1, view.inner});
  const Tensor repeated =
      node.Helper("BroadcastTo", {apart},
                  {{"shape", Shape({view.outer * n, times, view.inner})}});
  return ReshapedTo(node, repeated, DimsWith(x.shape(), axis, n * times));
}

Tensor TimesMatrix(NodeConversion& node, Tensor x, int axis,
                   const Reals& matrix) {
  const int64_t columns = x.shape().dim(axis);
  const int64_t rows = static_cast<int64_t>(matrix.size()) / columns;
  AttributeValue::List values(matrix.size());
  for (size_t i = 0; i < matrix.size(); ++i) values[i] = matrix[i];
  const Tensor constant = node.Helper("Const", {},
                                      {{"dtype", x.dtype()},
                                       {"shape", Shape({1, rows, columns})},
                                       {"values", std::move(values)}});
  const AxisView view = ViewOf(x.shape(), axis);
  const Tensor apart = ReshapedTo(node, x, {view.outer, columns, view.inner});
  return ReshapedTo(node, node.Helper("BatchMatMul", {constant, apart}),
                    DimsWith(x.shape(), axis, rows));
}

}  // namespace spillway::onnx_model
