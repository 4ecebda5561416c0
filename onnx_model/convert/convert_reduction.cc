// Reductions over dimensions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/status_macros.h"
#include "onnx_model/convert/op_table.h"

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

absl::Status ConvertReduction(NodeConversion& node, const char* op,
                              int64_t input_from) {
  if (!IsFloating(node.type(0))) {
    return Unimplemented(
        fmt::format("an input of {}", ElementTypeName(node.type(0))));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Reduced reduced,
                            ReadReduced(node, input_from));
  if (reduced.dims.empty()) {
    node.SetToInput(0, 0);
    return absl::OkStatus();
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  Sizes axes;
  for (const int dim : reduced.dims) {
    const std::vector<int>& of_dim = x.axes[static_cast<size_t>(dim)];
    axes.insert(axes.end(), of_dim.begin(), of_dim.end());
  }
  std::ranges::sort(axes);
  if (!axes.empty()) {
    x.tensor = node.Add(op, {x.tensor}, {{"axes", axes}, {"keep_dims", true}});
  }
  if (x.tensor.is_valid())
    node.Set(0, AfterReduction(node.scope(), x, reduced));
  return absl::OkStatus();
}

absl::Status ConvertReduceMean(NodeConversion& node) {
  return ConvertReduction(node, "Mean", 18);
}
absl::Status ConvertReduceSum(NodeConversion& node) {
  return ConvertReduction(node, "Sum", 13);
}

// The index of the largest element; the lowest of equal ones.
absl::Status ConvertArgMax(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, node.rank(0)));
  SPILLWAY_ASSIGN_OR_RETURN(const bool keeps,
                            node.node().Bool("keepdims", true));
  SPILLWAY_ASSIGN_OR_RETURN(const bool is_last,
                            node.node().Bool("select_last_index", false));
  if (is_last) return Unimplemented("select_last_index");
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, node.Input(0));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  const Tensor ordered = Ordered(node.scope(), x, Identity(x.rank()));
  const Tensor y = node.Add("ArgMax", {ordered}, {{"axis", int64_t{axis}}});
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

constexpr std::array<OpEntry, 3> kReductionOps = {{
    {"ArgMax", 1, 1, ConvertArgMax},
    {"ReduceMean", 1, 2, ConvertReduceMean},
    {"ReduceSum", 1, 2, ConvertReduceSum},
}};

}  // namespace

std::span<const OpEntry> ReductionOps() { return kReductionOps; }

}  // namespace spillway::onnx_model
