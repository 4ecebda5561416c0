#include "onnx_model/convert/combine.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

// NumPy: dimensions are compared from the last; one of 1 is repeated.
absl::StatusOr<Sizes> BroadcastDims(const Sizes& a, const Sizes& b) {
  Sizes dims(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t from_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t from_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) {
      return InvalidArgument(fmt::format("its inputs are {} and {}",
                                         Shape(a).ToString(),
                                         Shape(b).ToString()));
    }
    dims[dims.size() - 1 - i] = std::max(from_a, from_b);
  }
  return dims;
}

// `x` as `like` lies. What has one element, or one for each place of the last
// axis, is a scalar or a vector: faster than other repetition.
std::optional<Tensor> Repeatable(NodeConversion& node, const Arranged& x,
                                 const Arranged& like) {
  const NameScope scope = node.scope();
  if (x.dims.num_elements() == 1) return Reshaped(scope, x, Shape()).tensor;
  const std::optional<Tensor> matched = Matching(scope, x, like);
  if (!matched.has_value()) return std::nullopt;
  const Shape shape = matched->shape();
  const bool is_vector = shape.rank() > 1 &&
                         shape.num_elements() == shape.dim(-1) &&
                         shape.dim(-1) == like.tensor.shape().dim(-1);
  if (!is_vector) return matched;
  return node.Helper("Reshape", {*matched}, {{"shape", Sizes{shape.dim(-1)}}});
}

// Whether each dimension that grows has an axis that can.
bool CanGrowTo(const Arranged& x, const Shape& dims) {
  for (int dim = 0; dim < x.rank(); ++dim) {
    if (x.dims.dim(dim) != dims.dim(dim) &&
        x.axes[static_cast<size_t>(dim)].empty()) {
      return false;
    }
  }
  return true;
}

Arranged InModelOrder(NodeConversion& node, const Arranged& x) {
  return AsIs(Ordered(node.scope(), x, Identity(x.rank())));
}

Tensor WithDType(NodeConversion& node, Tensor x, DType dtype) {
  if (!x.is_valid() || x.dtype() == dtype) return x;
  return node.Helper("Cast", {x}, {{"dtype", dtype}});
}

// Of a variable and an activation, the activation decides.
DType CommonDType(const NodeConversion& node, Tensor a, Tensor b) {
  if (a.dtype() == b.dtype()) return a.dtype();
  return node.state().options().dtype;
}

}  // namespace

absl::StatusOr<Arranged> Combine(NodeConversion& node, const char* op,
                                 Arranged a, Arranged b) {
  if (!a.tensor.is_valid() || !b.tensor.is_valid()) return Arranged();
  SPILLWAY_ASSIGN_OR_RETURN(const Sizes common,
                            BroadcastDims(a.dims.dims(), b.dims.dims()));
  const Shape dims(common);
  a = RaiseRank(a, dims.rank());
  b = RaiseRank(b, dims.rank());
  // The larger operand decides how the result lies.
  const bool a_is_larger = a.dims.num_elements() >= b.dims.num_elements();
  Arranged& large = a_is_larger ? a : b;
  Arranged& small = a_is_larger ? b : a;
  if (!CanGrowTo(large, dims)) large = InModelOrder(node, large);
  std::optional<Tensor> other = Repeatable(node, small, large);
  if (!other.has_value()) {
    large = InModelOrder(node, large);
    other = InModelOrder(node, small).tensor;
  }
  const DType dtype = CommonDType(node, a.tensor, b.tensor);
  const Tensor first = WithDType(node, large.tensor, dtype);
  const Tensor second = WithDType(node, *other, dtype);
  large.tensor = node.Add(op, a_is_larger ? std::vector{first, second}
                                          : std::vector{second, first});
  large.dims = dims;
  return large;
}

}  // namespace spillway::onnx_model
