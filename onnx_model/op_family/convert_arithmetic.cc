// Sums, products and quotients of tensors, with NumPy's broadcasting.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "onnx_model/op_family/combine.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

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

// `of_integers`: the op of integers.
absl::Status ConvertBinary(NodeConversion& node, const char* op,
                           const char* of_integers) {
  const ElementType type = node.type(0);
  if (!IsFloating(type) && type != ElementType::kInt32 &&
      type != ElementType::kInt64) {
    return Unimplemented(fmt::format("inputs of {}", ElementTypeName(type)));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged a, node.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged b, node.Input(1));
  if (!a.tensor.is_valid() || !b.tensor.is_valid()) return absl::OkStatus();
  if (node.opset() < 7) {
    SPILLWAY_ASSIGN_OR_RETURN(b, AlignOld(node, a, b));
  }
  SPILLWAY_ASSIGN_OR_RETURN(
      const Arranged y,
      Combine(node, IsFloating(type) ? op : of_integers, a, b));
  node.Set(0, y);
  return absl::OkStatus();
}

absl::Status ConvertAdd(NodeConversion& node) {
  return ConvertBinary(node, "Add", "Add");
}
absl::Status ConvertSub(NodeConversion& node) {
  return ConvertBinary(node, "Sub", "Sub");
}
absl::Status ConvertMul(NodeConversion& node) {
  return ConvertBinary(node, "Mul", "Mul");
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

absl::Status ConvertDiv(NodeConversion& node) {
  return ConvertBinary(node, "RealDiv", "TruncateDiv");
}

absl::Status RaiseToPower(NodeConversion& node, double exponent) {
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  if (exponent == 1) {
    node.SetToInput(0, 0);
    return absl::OkStatus();
  }
  if (exponent == 2) {
    x.tensor = node.Add("Mul", {x.tensor, x.tensor});
  } else if (exponent == 3) {
    const Tensor square = node.Helper("Mul", {x.tensor, x.tensor});
    x.tensor = node.Add("Mul", {square, x.tensor});
  } else if (exponent == 0.5) {
    x.tensor = node.Add("Sqrt", {x.tensor});
  } else if (exponent == -1) {
    x.tensor = node.Add("Reciprocal", {x.tensor});
  } else {
    x.tensor = node.Add("Power", {x.tensor}, {{"exponent", exponent}});
  }
  node.Set(0, x);
  return absl::OkStatus();
}

absl::Status ConvertPow(NodeConversion& node) {
  if (!IsFloating(node.type(0))) {
    return Unimplemented(
        fmt::format("a base of {}", ElementTypeName(node.type(0))));
  }
  if (node.IsConstant(1)) {
    SPILLWAY_ASSIGN_OR_RETURN(const Constant exponent, node.ConstantInput(1));
    if (exponent.size() == 1 && node.rank(1) <= node.rank(0)) {
      return RaiseToPower(node, exponent.real(0));
    }
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged base, node.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged exponent, node.Input(1));
  if (!base.tensor.is_valid() || !exponent.tensor.is_valid()) {
    return absl::OkStatus();
  }
  if (!IsFloating(node.type(1))) {
    exponent.tensor = node.Helper("Cast", {exponent.tensor},
                                  {{"dtype", base.tensor.dtype()}});
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged y,
                            Combine(node, "Pow", base, exponent));
  node.Set(0, y);
  return absl::OkStatus();
}

// max(x, 0) + slope (x - max(x, 0)).
absl::Status ConvertPRelu(NodeConversion& node) {
  if (!IsFloating(node.type(0))) {
    return Unimplemented(
        fmt::format("an input of {}", ElementTypeName(node.type(0))));
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged slope, node.Input(1));
  if (!x.tensor.is_valid() || !slope.tensor.is_valid()) return absl::OkStatus();
  if (node.opset() < 7 && slope.rank() == 1 && x.rank() > 2) {
    Sizes dims(static_cast<size_t>(x.rank()) - 1, 1);
    dims[0] = slope.dims.dim(0);
    slope = Reshaped(node.scope(), slope, Shape(dims));
  }
  Arranged above = x;
  above.tensor = node.Helper("Relu", {x.tensor});
  Arranged below = x;
  below.tensor = node.Helper("Sub", {x.tensor, above.tensor});
  SPILLWAY_ASSIGN_OR_RETURN(below, Combine(node, "Mul", below, slope));
  if (below.dims != x.dims || !below.tensor.is_valid()) {
    return InvalidArgument("its slope is larger than its input");
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged y,
                            Combine(node, "Add", above, below));
  node.Set(0, y);
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 8> kArithmeticOps = {{
    {"Add", 2, 2, ConvertAdd},
    {"Div", 2, 2, ConvertDiv},
    {"Mean", 1, kAnyNumber, ConvertMean},
    {"Mul", 2, 2, ConvertMul},
    {"PRelu", 2, 2, ConvertPRelu},
    {"Pow", 2, 2, ConvertPow},
    {"Sub", 2, 2, ConvertSub},
    {"Sum", 1, kAnyNumber, ConvertSum},
}};

}  // namespace

std::span<const OpEntry> ArithmeticOps() { return kArithmeticOps; }

}  // namespace spillway::onnx_model
