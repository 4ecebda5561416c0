#include "onnx_model/op_family/combine.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "onnx_model/fold/fold.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

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

// Of a variable and an activation, the activation decides; of integers, the
// wider one.
DType CommonDType(const NodeConversion& node, DType a, DType b) {
  if (a == b) return a;
  if (spillway::IsFloating(a) && spillway::IsFloating(b)) {
    return node.state().options().dtype;
  }
  return SizeOf(a) >= SizeOf(b) ? a : b;
}

// The shape of all of them.
absl::StatusOr<Shape> ShapeOfAll(const std::vector<Arranged>& xs) {
  Sizes common;
  for (const Arranged& x : xs) {
    SPILLWAY_ASSIGN_OR_RETURN(common, CommonDims(common, x.dims.dims()));
  }
  return Shape(common);
}

// How the result lies, and the operands as it lies.
struct Alike {
  Arranged result = {};
  std::vector<Tensor> tensors = {};
};

// The largest operand decides, the first of equal ones.
Alike MakeAlike(NodeConversion& node, std::vector<Arranged> xs,
                const Shape& dims) {
  for (Arranged& x : xs) x = RaiseRank(x, dims.rank());
  const auto largest = std::ranges::max_element(
      xs, {}, [](const Arranged& x) { return x.dims.num_elements(); });
  if (!CanGrowTo(*largest, dims)) *largest = InModelOrder(node, *largest);
  Alike alike = {.result = *largest};
  for (const Arranged& x : xs) {
    const std::optional<Tensor> tensor =
        &x == &*largest ? x.tensor : Repeatable(node, x, *largest);
    if (!tensor.has_value()) break;
    alike.tensors.push_back(*tensor);
  }
  if (alike.tensors.size() < xs.size()) {
    alike.tensors.clear();
    for (const Arranged& x : xs) {
      alike.tensors.push_back(InModelOrder(node, x).tensor);
    }
    alike.result =
        AsIs(alike.tensors[static_cast<size_t>(largest - xs.begin())]);
  }
  alike.result.dims = dims;
  return alike;
}

// Operands from `first` on have a common dtype.
absl::StatusOr<Arranged> CombineFrom(NodeConversion& node, const char* op,
                                     std::vector<Arranged> xs, size_t first) {
  for (const Arranged& x : xs) {
    if (!x.tensor.is_valid()) return Arranged();
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Shape dims, ShapeOfAll(xs));
  auto [result, tensors] = MakeAlike(node, std::move(xs), dims);
  for (const Tensor tensor : tensors) {
    if (!tensor.is_valid()) return Arranged();
  }
  const DType dtype =
      CommonDType(node, tensors[first].dtype(), tensors[first + 1].dtype());
  for (size_t i = first; i < tensors.size(); ++i) {
    tensors[i] = WithDType(node, tensors[i], dtype);
  }
  result.tensor = node.Add(op, std::move(tensors));
  return result;
}

}  // namespace

absl::StatusOr<Arranged> Combine(NodeConversion& node, const char* op,
                                 const Arranged& a, const Arranged& b) {
  return CombineFrom(node, op, {a, b}, 0);
}

absl::StatusOr<Arranged> CombineSelect(NodeConversion& node,
                                       const Arranged& condition,
                                       const Arranged& a, const Arranged& b) {
  return CombineFrom(node, "Select", {condition, a, b}, 1);
}

}  // namespace spillway::onnx_model
