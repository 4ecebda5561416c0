// Reductions over dimensions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/status_macros.h"
#include "onnx_model/op_family/axes.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

struct Reduced {
  std::vector<int> dims = {};
  bool keeps_dims = true;
};

// `input_from`: the opset in which the axes became an input.
absl::StatusOr<Reduced> ReadReduced(NodeConversion& node, int64_t input_from) {
  Reduced reduced;
  SPILLWAY_ASSIGN_OR_RETURN(reduced.keeps_dims,
                            node.node().Bool("keepdims", true));
  std::optional<Sizes> axes;
  if (node.opset() < input_from) {
    SPILLWAY_ASSIGN_OR_RETURN(axes, node.node().Ints("axes"));
  } else if (node.has(1)) {
    SPILLWAY_ASSIGN_OR_RETURN(axes.emplace(), node.IntegersInput(1));
  }
  if (axes.has_value() && !axes->empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(reduced.dims, node.Axes(*axes, node.rank(0)));
    return reduced;
  }
  SPILLWAY_ASSIGN_OR_RETURN(const bool is_noop,
                            node.node().Bool("noop_with_empty_axes", false));
  if (!is_noop) reduced.dims = Identity(node.rank(0));
  return reduced;
}

// The value after its axes have become 1 in the tensor.
Arranged AfterReduction(const NameScope& scope, Arranged x,
                        const Reduced& reduced) {
  Sizes dims = x.dims.dims();
  for (const int dim : reduced.dims) dims[static_cast<size_t>(dim)] = 1;
  x.dims = Shape(dims);
  if (reduced.keeps_dims) return x;
  Sizes rest;
  for (int dim = 0; dim < x.rank(); ++dim) {
    if (std::ranges::find(reduced.dims, dim) == reduced.dims.end()) {
      rest.push_back(x.dims.dim(dim));
    }
  }
  return Reshaped(scope, x, Shape(rest));
}

// What is done to each element before the reduction, and after it.
struct ReductionSteps {
  const char* before = nullptr;  // null: nothing
  const char* op = nullptr;
  const char* after = nullptr;
};

constexpr const char* kSquare = "square";

Tensor Before(NodeConversion& node, Tensor x, const char* op) {
  if (op == nullptr) return x;
  if (op == kSquare) return node.Helper("Mul", {x, x});
  return node.Helper(op, {x});
}

absl::Status ConvertReduction(NodeConversion& node, const ReductionSteps& steps,
                              int64_t input_from) {
  SPILLWAY_RETURN_IF_ERROR(CheckReals(node));
  SPILLWAY_ASSIGN_OR_RETURN(const Reduced reduced,
                            ReadReduced(node, input_from));
  if (reduced.dims.empty() && steps.before == nullptr &&
      steps.after == nullptr) {
    node.SetToInput(0, 0);
    return absl::OkStatus();
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  x.tensor = Before(node, x.tensor, steps.before);
  const Sizes axes = TensorAxes(x, reduced.dims);
  if (!axes.empty()) {
    const Attributes attributes = {{"axes", axes}, {"keep_dims", true}};
    x.tensor = steps.after == nullptr
                   ? node.Add(steps.op, {x.tensor}, attributes)
                   : node.Helper(steps.op, {x.tensor}, attributes);
  }
  if (steps.after != nullptr) x.tensor = node.Add(steps.after, {x.tensor});
  if (!x.tensor.is_valid()) return absl::OkStatus();
  node.Set(0, AfterReduction(node.scope(), x, reduced));
  return absl::OkStatus();
}

absl::Status ConvertReduceL1(NodeConversion& node) {
  return ConvertReduction(node, {.before = "Abs", .op = "Sum"}, 18);
}
absl::Status ConvertReduceL2(NodeConversion& node) {
  return ConvertReduction(
      node, {.before = kSquare, .op = "Sum", .after = "Sqrt"}, 18);
}
absl::Status ConvertReduceLogSum(NodeConversion& node) {
  return ConvertReduction(node, {.op = "Sum", .after = "Log"}, 18);
}
absl::Status ConvertReduceMax(NodeConversion& node) {
  return ConvertReduction(node, {.op = "Max"}, 18);
}
absl::Status ConvertReduceMean(NodeConversion& node) {
  return ConvertReduction(node, {.op = "Mean"}, 18);
}
absl::Status ConvertReduceMin(NodeConversion& node) {
  return ConvertReduction(node, {.op = "Min"}, 18);
}
absl::Status ConvertReduceProd(NodeConversion& node) {
  return ConvertReduction(node, {.op = "Prod"}, 18);
}
absl::Status ConvertReduceSum(NodeConversion& node) {
  return ConvertReduction(node, {.op = "Sum"}, 13);
}
absl::Status ConvertReduceSumSquare(NodeConversion& node) {
  return ConvertReduction(node, {.before = kSquare, .op = "Sum"}, 18);
}

// m + log(sum of exp(x - m)), where m is the largest x.
absl::Status ConvertReduceLogSumExp(NodeConversion& node) {
  SPILLWAY_RETURN_IF_ERROR(CheckReals(node));
  SPILLWAY_ASSIGN_OR_RETURN(const Reduced reduced, ReadReduced(node, 18));
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  const Sizes axes = TensorAxes(x, reduced.dims);
  if (!axes.empty()) {
    const Attributes attributes = {{"axes", axes}, {"keep_dims", true}};
    const Tensor most = node.Helper("Max", {x.tensor}, attributes);
    const Tensor exp =
        node.Helper("Exp", {node.Helper("Sub", {x.tensor, most})});
    const Tensor sum = node.Helper("Sum", {exp}, attributes);
    x.tensor = node.Add("Add", {node.Helper("Log", {sum}), most});
    if (!x.tensor.is_valid()) return absl::OkStatus();
  }
  node.Set(0, AfterReduction(node.scope(), x, reduced));
  return absl::OkStatus();
}

// A list of integers from n - 1 down to 0.
Tensor Backwards(NodeConversion& node, int64_t n) {
  Sizes places;
  for (int64_t i = n - 1; i >= 0; --i) places.push_back(i);
  return IndexList(node, places, Shape({n}));
}

// The index of the largest element of `x` along `axis`, the first of equal
// ones; the last one if x is read backwards.
Tensor IndexOfLargest(NodeConversion& node, Tensor x, int axis, bool is_last) {
  if (!x.is_valid()) return x;
  const Attributes attributes = {{"axis", int64_t{axis}}};
  if (!is_last) return node.Add("ArgMax", {x}, attributes);
  const Tensor backwards = Backwards(node, x.shape().dim(axis));
  const Tensor y =
      node.Helper("ArgMax", {node.Helper("Gather", {x, backwards}, attributes)},
                  attributes);
  return node.Add("Gather", {backwards, y}, {{"axis", int64_t{0}}});
}

absl::Status ConvertArg(NodeConversion& node, bool is_max) {
  SPILLWAY_RETURN_IF_ERROR(CheckReals(node));
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, node.rank(0)));
  SPILLWAY_ASSIGN_OR_RETURN(const bool keeps,
                            node.node().Bool("keepdims", true));
  SPILLWAY_ASSIGN_OR_RETURN(const bool is_last,
                            node.node().Bool("select_last_index", false));
  SPILLWAY_ASSIGN_OR_RETURN(Tensor x,
                            node.InputInOrder(0, Identity(node.rank(0))));
  if (!x.is_valid()) return absl::OkStatus();
  if (is_last) {
    SPILLWAY_RETURN_IF_ERROR(CheckConstantSize(x.shape().dim(axis)));
  }
  if (!is_max) x = node.Helper("Mul", {x, node.Number(-1, x)});
  const Tensor y = IndexOfLargest(node, x, axis, is_last);
  if (!y.is_valid()) return absl::OkStatus();
  Sizes dims = node.dims(0);
  if (keeps) {
    dims[static_cast<size_t>(axis)] = 1;
  } else {
    dims.erase(dims.begin() + axis);
  }
  node.Set(0, Reshaped(node.scope(), AsIs(y), Shape(dims)),
           ElementType::kInt64);
  return absl::OkStatus();
}

absl::Status ConvertArgMax(NodeConversion& node) {
  return ConvertArg(node, true);
}
absl::Status ConvertArgMin(NodeConversion& node) {
  return ConvertArg(node, false);
}

constexpr std::array<OpEntry, 12> kReductionOps = {{
    {"ArgMax", 1, 1, ConvertArgMax},
    {"ArgMin", 1, 1, ConvertArgMin},
    {"ReduceL1", 1, 2, ConvertReduceL1},
    {"ReduceL2", 1, 2, ConvertReduceL2},
    {"ReduceLogSum", 1, 2, ConvertReduceLogSum},
    {"ReduceLogSumExp", 1, 2, ConvertReduceLogSumExp},
    {"ReduceMax", 1, 2, ConvertReduceMax},
    {"ReduceMean", 1, 2, ConvertReduceMean},
    {"ReduceMin", 1, 2, ConvertReduceMin},
    {"ReduceProd", 1, 2, ConvertReduceProd},
    {"ReduceSum", 1, 2, ConvertReduceSum},
    {"ReduceSumSquare", 1, 2, ConvertReduceSumSquare},
}};

}  // namespace

std::span<const OpEntry> ReductionOps() { return kReductionOps; }

}  // namespace spillway::onnx_model
