// Sums and products of tensors, with NumPy's broadcasting as far as our ops go.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "onnx_model/convert/op_table.h"

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

// Opset 6 aligns b with the dimensions of a from `axis` on, if `broadcast`
// is 1.
absl::StatusOr<Arranged> AlignOld(NodeConversion& node, const Arranged& a,
                                  const Arranged& b) {
  SPILLWAY_ASSIGN_OR_RETURN(const bool broadcasts,
                            node.node().Bool("broadcast", false));
  if (!broadcasts || !node.node().has("axis")) return b;
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, a.rank()));
  Sizes dims = b.dims.dims();
  const int after = a.rank() - axis - b.rank();
  if (after < 0) return InvalidArgument("axis leaves no room for its input 1");
  dims.insert(dims.end(), static_cast<size_t>(after), 1);
  return Reshaped(node.scope(), b, Shape(dims));
}

// `x`, of fewer elements than `like`, as our ops take a second operand: a
// tensor of the same shape, a scalar, or a vector of the last axis.
absl::StatusOr<Tensor> SecondOperand(NodeConversion& node, const Arranged& x,
                                     const Arranged& like) {
  const NameScope scope = node.scope();
  if (x.dims.num_elements() == 1) {
    return Reshaped(scope, x, Shape()).tensor;
  }
  const std::optional<Tensor> matched = Matching(scope, x, like);
  if (!matched.has_value()) {
    return Unimplemented(fmt::format("broadcasting of {} to {}",
                                     x.dims.ToString(), like.dims.ToString()));
  }
  const Shape shape = matched->shape();
  if (shape == like.tensor.shape()) return *matched;
  if (shape.num_elements() != shape.dim(-1)) {
    return Unimplemented(fmt::format("broadcasting of {} to {}",
                                     x.dims.ToString(), like.dims.ToString()));
  }
  return node.Helper("Reshape", {*matched}, {{"shape", Sizes{shape.dim(-1)}}});
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

absl::StatusOr<Arranged> Combine(NodeConversion& node, const char* op,
                                 Arranged a, Arranged b) {
  SPILLWAY_ASSIGN_OR_RETURN(const Sizes dims,
                            BroadcastDims(a.dims.dims(), b.dims.dims()));
  const DType dtype = CommonDType(node, a.tensor, b.tensor);
  a = RaiseRank(a, static_cast<int>(dims.size()));
  b = RaiseRank(b, static_cast<int>(dims.size()));
  const bool is_swapped = a.dims != Shape(dims);
  if (is_swapped) std::swap(a, b);
  if (a.dims != Shape(dims)) {
    return Unimplemented(fmt::format("broadcasting of {} and {}",
                                     a.dims.ToString(), b.dims.ToString()));
  }
  // An operand that lies in no other order follows one that does.
  absl::StatusOr<Tensor> second = SecondOperand(node, b, a);
  if (!second.ok()) {
    a = AsIs(Ordered(node.scope(), a, Identity(a.rank())));
    SPILLWAY_ASSIGN_OR_RETURN(second, SecondOperand(node, b, a));
  }
  const Tensor x = WithDType(node, a.tensor, dtype);
  Tensor y = WithDType(node, *second, dtype);
  if (is_swapped && std::string_view(op) == "Sub") {
    // b - a = -1 a + b
    const Tensor negative = node.Helper("Mul", {x, node.Number(-1, x)});
    a.tensor = node.Add("Add", {negative, y});
  } else {
    a.tensor = node.Add(op, {x, y});
  }
  return a;
}

absl::Status ConvertBinary(NodeConversion& node, const char* op) {
  if (!IsFloating(node.type(0))) {
    return Unimplemented(
        fmt::format("inputs of {}", ElementTypeName(node.type(0))));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged a, node.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged b, node.Input(1));
  if (!a.tensor.is_valid() || !b.tensor.is_valid()) return absl::OkStatus();
  if (node.opset() < 7) {
    SPILLWAY_ASSIGN_OR_RETURN(b, AlignOld(node, a, b));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged y, Combine(node, op, a, b));
  node.Set(0, y);
  return absl::OkStatus();
}

absl::Status ConvertAdd(NodeConversion& node) {
  return ConvertBinary(node, "Add");
}
absl::Status ConvertSub(NodeConversion& node) {
  return ConvertBinary(node, "Sub");
}
absl::Status ConvertMul(NodeConversion& node) {
  return ConvertBinary(node, "Mul");
}

absl::StatusOr<Arranged> AddUp(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(Arranged sum, node.Input(0));
  for (int i = 1; i < node.node().num_inputs(); ++i) {
    if (!node.has(i)) return InvalidArgument("leaves an input out");
    SPILLWAY_ASSIGN_OR_RETURN(const Arranged next, node.Input(i));
    if (!next.tensor.is_valid() || !sum.tensor.is_valid()) return sum;
    SPILLWAY_ASSIGN_OR_RETURN(sum, Combine(node, "Add", sum, next));
  }
  return sum;
}

absl::Status ConvertSum(NodeConversion& node) {
  if (node.node().num_inputs() == 1) {
    node.SetToInput(0, 0);
    return absl::OkStatus();
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged sum, AddUp(node));
  node.Set(0, sum);
  return absl::OkStatus();
}

absl::Status ConvertMean(NodeConversion& node) {
  const int count = node.node().num_inputs();
  if (count == 1) return ConvertSum(node);
  SPILLWAY_ASSIGN_OR_RETURN(Arranged mean, AddUp(node));
  if (!mean.tensor.is_valid()) return absl::OkStatus();
  mean.tensor =
      node.Helper("Mul", {mean.tensor, node.Number(1.0 / count, mean.tensor)});
  node.Set(0, mean);
  return absl::OkStatus();
}

// Division by constants: a product with their reciprocals.
absl::Status ConvertDiv(NodeConversion& node) {
  if (!IsFloating(node.type(0)) || !node.IsConstant(1)) {
    return Unimplemented("a divisor that is not constant");
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged a, node.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const Constant divisor, node.ConstantInput(1));
  if (divisor.size() != 1) return Unimplemented("a divisor of several numbers");
  if (!a.tensor.is_valid()) return absl::OkStatus();
  Arranged y = a;
  y.tensor =
      node.Add("Mul", {a.tensor, node.Number(1 / divisor.real(0), a.tensor)});
  SPILLWAY_ASSIGN_OR_RETURN(const Sizes dims,
                            BroadcastDims(a.dims.dims(), divisor.dims));
  node.Set(0, RaiseRank(y, static_cast<int>(dims.size())));
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 6> kArithmeticOps = {{
    {"Add", 2, 2, ConvertAdd},
    {"Div", 2, 2, ConvertDiv},
    {"Mean", 1, kAnyNumber, ConvertMean},
    {"Mul", 2, 2, ConvertMul},
    {"Sub", 2, 2, ConvertSub},
    {"Sum", 1, kAnyNumber, ConvertSum},
}};

}  // namespace

std::span<const OpEntry> ArithmeticOps() { return kArithmeticOps; }

}  // namespace spillway::onnx_model
