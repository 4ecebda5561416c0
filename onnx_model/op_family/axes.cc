#include "onnx_model/op_family/axes.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace spillway::onnx_model {

using Sizes = std::vector<int64_t>;

absl::StatusOr<Arranged> WithAxes(NodeConversion& node, int input,
                                  const std::vector<int>& dims) {
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(input));
  if (!x.tensor.is_valid()) return x;
  const bool has_all = std::ranges::all_of(
      dims, [&](int dim) { return x.OnlyAxis(dim).has_value(); });
  if (has_all) return x;
  return AsIs(Ordered(node.scope(), x, Identity(x.rank())));
}

void SetDim(Arranged& x, int dim, int64_t size) {
  Sizes dims = x.dims.dims();
  dims[static_cast<size_t>(dim)] = size;
  x.dims = Shape(dims);
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

}  // namespace spillway::onnx_model
