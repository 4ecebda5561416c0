// Comparisons, logic, and choices between values.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "onnx_model/op_family/classes.h"
#include "onnx_model/op_family/combine.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

// y = op(a, b), bool; with `swaps`, op(b, a).
absl::Status ConvertTest(NodeConversion& node, const char* op, bool swaps) {
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged a, node.Input(swaps ? 1 : 0));
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged b, node.Input(swaps ? 0 : 1));
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged y, Combine(node, op, a, b));
  node.Set(0, y, ElementType::kBool);
  return absl::OkStatus();
}

absl::Status ConvertEqual(NodeConversion& node) {
  return ConvertTest(node, "Equal", false);
}
absl::Status ConvertLess(NodeConversion& node) {
  return ConvertTest(node, "Less", false);
}
absl::Status ConvertLessOrEqual(NodeConversion& node) {
  return ConvertTest(node, "LessEqual", false);
}
absl::Status ConvertGreater(NodeConversion& node) {
  return ConvertTest(node, "Less", true);
}
absl::Status ConvertGreaterOrEqual(NodeConversion& node) {
  return ConvertTest(node, "LessEqual", true);
}
absl::Status ConvertAnd(NodeConversion& node) {
  return ConvertTest(node, "LogicalAnd", false);
}
absl::Status ConvertOr(NodeConversion& node) {
  return ConvertTest(node, "LogicalOr", false);
}
absl::Status ConvertXor(NodeConversion& node) {
  return ConvertTest(node, "LogicalXor", false);
}

absl::Status ConvertNot(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  x.tensor = node.Add("LogicalXor", {x.tensor, node.Number(1, x.tensor)});
  node.Set(0, x);
  return absl::OkStatus();
}

absl::Status ConvertWhere(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged condition, node.Input(0));
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged a, node.Input(1));
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged b, node.Input(2));
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged y,
                            CombineSelect(node, condition, a, b));
  node.Set(0, y, node.type(1));
  return absl::OkStatus();
}

// Integers have no Maximum: the one that is not less is chosen.
absl::StatusOr<Arranged> Extreme(NodeConversion& node, bool is_max,
                                 const Arranged& a, const Arranged& b) {
  if (IsFloating(node.type(0))) {
    return Combine(node, is_max ? "Maximum" : "Minimum", a, b);
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged is_less,
                            Combine(node, "Less", a, b));
  return CombineSelect(node, is_less, is_max ? b : a, is_max ? a : b);
}

absl::Status ConvertExtreme(NodeConversion& node, bool is_max) {
  if (node.node().num_inputs() == 1) {
    node.SetToInput(0, 0);
    return absl::OkStatus();
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged y, node.Input(0));
  for (int i = 1; i < node.node().num_inputs(); ++i) {
    if (!node.has(i)) return InvalidArgument("leaves an input out");
    SPILLWAY_ASSIGN_OR_RETURN(const Arranged next, node.Input(i));
    if (!y.tensor.is_valid() || !next.tensor.is_valid()) {
      return absl::OkStatus();
    }
    SPILLWAY_ASSIGN_OR_RETURN(y, Extreme(node, is_max, y, next));
  }
  node.Set(0, y);
  return absl::OkStatus();
}

absl::Status ConvertMax(NodeConversion& node) {
  return ConvertExtreme(node, true);
}
absl::Status ConvertMin(NodeConversion& node) {
  return ConvertExtreme(node, false);
}

// True where a matrix of this triangle keeps its element.
AttributeValue::List Triangle(int64_t rows, int64_t columns, int64_t k,
                              bool is_upper) {
  AttributeValue::List keeps(static_cast<size_t>(rows * columns));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const bool keep = is_upper ? column - row >= k : column - row <= k;
      keeps[static_cast<size_t>(row * columns + column)] =
          int64_t{keep ? 1 : 0};
    }
  }
  return keeps;
}

absl::Status ConvertTrilu(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const bool is_upper,
                            node.node().Bool("upper", true));
  int64_t k = 0;
  if (node.has(1)) {
    SPILLWAY_ASSIGN_OR_RETURN(const Sizes values, node.IntegersInput(1));
    if (values.size() != 1) return InvalidArgument("k is not one number");
    k = values[0];
  }
  const int rank = node.rank(0);
  if (rank < 2) return InvalidArgument("an input of fewer than 2 dimensions");
  const int64_t rows = node.dims(0)[static_cast<size_t>(rank) - 2];
  const int64_t columns = node.dims(0)[static_cast<size_t>(rank) - 1];
  SPILLWAY_RETURN_IF_ERROR(CheckConstantSize(rows * columns));
  // No element is so far from the diagonal.
  k = std::clamp(k, -rows - 1, columns + 1);
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor x,
                            node.InputInOrder(0, Identity(rank)));
  if (!x.is_valid()) return absl::OkStatus();
  const Tensor keeps =
      node.Helper("Const", {},
                  {{"dtype", DType::kBool},
                   {"shape", Shape({rows, columns})},
                   {"values", Triangle(rows, columns, k, is_upper)}});
  const Tensor y = node.Add("Select", {keeps, x, node.Number(0, x)});
  if (y.is_valid()) node.Set(0, AsIs(y));
  return absl::OkStatus();
}

// Of a vector, as a scalar.
Tensor ElementOf(NodeConversion& node, Tensor x, int64_t place) {
  const Tensor element =
      node.Helper("Slice", {x}, {{"begin", Sizes{place}}, {"size", Sizes{1}}});
  return node.Helper("Reshape", {element}, {{"shape", Shape()}});
}

absl::Status ConvertOneHot(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant depth, node.ConstantInput(1));
  const int rank = node.rank(0);
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", -1));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, rank + 1));
  if (depth.size() != 1 || node.dims(2) != Sizes{2}) {
    return InvalidArgument("depth is not one number, or values are not two");
  }
  const double classes = depth.real(0);
  if (!(classes >= 1 &&
        classes <= static_cast<double>(kMostConstantElements))) {
    return Unimplemented(fmt::format("a depth of {}", classes));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor x,
                            node.InputInOrder(0, Identity(rank)));
  if (!x.is_valid()) return absl::OkStatus();
  const auto n = static_cast<int64_t>(classes);
  const Tensor is_class = IsPlace(node, x, n);
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor off_on,
                            node.InputInOrder(2, Identity(1)));
  const Tensor off = ElementOf(node, off_on, 0);
  const Tensor on = ElementOf(node, off_on, 1);
  const Tensor y = node.Add("Select", {is_class, on, off});
  if (!y.is_valid()) return absl::OkStatus();
  // The classes are last; the value has them at `axis`.
  Order order = Identity(rank + 1);
  order.pop_back();
  order.insert(order.begin() + axis, rank);
  node.Set(0, Permute(AsIs(y), order), node.type(2));
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 14> kChoiceOps = {{
    {"And", 2, 2, ConvertAnd},
    {"Equal", 2, 2, ConvertEqual},
    {"Greater", 2, 2, ConvertGreater},
    {"GreaterOrEqual", 2, 2, ConvertGreaterOrEqual},
    {"Less", 2, 2, ConvertLess},
    {"LessOrEqual", 2, 2, ConvertLessOrEqual},
    {"Max", 1, kAnyNumber, ConvertMax},
    {"Min", 1, kAnyNumber, ConvertMin},
    {"Not", 1, 1, ConvertNot},
    {"OneHot", 3, 3, ConvertOneHot},
    {"Or", 2, 2, ConvertOr},
    {"Trilu", 1, 2, ConvertTrilu},
    {"Where", 3, 3, ConvertWhere},
    {"Xor", 2, 2, ConvertXor},
}};

}  // namespace

std::span<const OpEntry> ChoiceOps() { return kChoiceOps; }

}  // namespace spillway::onnx_model
