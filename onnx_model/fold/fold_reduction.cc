// Sums, products and extremes over dimensions of constants.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "onnx_model/fold/fold.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;
using Join = double (*)(double, double);

Join FindJoin(std::string_view op) {
  static const std::map<std::string_view, Join> kOps = {
      {"ReduceMax", [](double a, double b) { return std::max(a, b); }},
      {"ReduceMean", [](double a, double b) { return a + b; }},
      {"ReduceMin", [](double a, double b) { return std::min(a, b); }},
      {"ReduceProd", [](double a, double b) { return a * b; }},
      {"ReduceSum", [](double a, double b) { return a + b; }},
  };
  const auto found = kOps.find(op);
  return found == kOps.end() ? nullptr : found->second;
}

// Whether each dimension is reduced.
absl::StatusOr<std::vector<bool>> ReducedDims(const FoldContext& context,
                                              const Constant& x) {
  std::optional<Sizes> axes;
  if (context.has(1)) {
    SPILLWAY_ASSIGN_OR_RETURN(const Integers* given, context.IntegersOf(1));
    axes = *given;
  } else {
    SPILLWAY_ASSIGN_OR_RETURN(axes, context.node.Ints("axes"));
  }
  const auto rank = static_cast<int64_t>(x.dims.size());
  if (!axes.has_value() || axes->empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(const bool is_noop,
                              context.node.Bool("noop_with_empty_axes", false));
    return std::vector<bool>(x.dims.size(), !is_noop);
  }
  std::vector<bool> is_reduced(x.dims.size());
  for (const int64_t axis : *axes) {
    const int64_t from_zero = axis < 0 ? axis + rank : axis;
    if (from_zero < 0 || from_zero >= rank) {
      return InvalidArgument("has an axis that its input does not have");
    }
    is_reduced[static_cast<size_t>(from_zero)] = true;
  }
  return is_reduced;
}

// In doubles: integers are exact below 2^53, which counts and sizes are.
absl::StatusOr<Constants> FoldReduction(const FoldContext& context) {
  SPILLWAY_ASSIGN_OR_RETURN(const Constant* x, context.Input(0));
  if (x->size() == 0) return ResourceExhausted("no elements");
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<bool> is_reduced,
                            ReducedDims(context, *x));
  SPILLWAY_ASSIGN_OR_RETURN(const bool keeps,
                            context.node.Bool("keepdims", true));
  Sizes kept = x->dims;
  Sizes rest;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (is_reduced[i]) kept[i] = 1;
    if (!is_reduced[i]) rest.push_back(kept[i]);
  }
  const Sizes strides = StridesOf(kept);
  int64_t elements = 1;
  for (const int64_t dim : kept) elements *= dim;
  std::vector<std::optional<double>> sums(static_cast<size_t>(elements));
  const Join join = FindJoin(context.node.op());
  size_t next = 0;
  ForEachPlace(x->dims, [&](const Sizes& place) {
    int64_t at = 0;
    for (size_t i = 0; i < place.size(); ++i) {
      if (!is_reduced[i]) at += place[i] * strides[i];
    }
    std::optional<double>& sum = sums[static_cast<size_t>(at)];
    const double value = x->real(next++);
    sum = sum.has_value() ? join(*sum, value) : value;
  });
  const double count =
      context.node.op() == "ReduceMean"
          ? static_cast<double>(x->size()) / static_cast<double>(elements)
          : 1;
  Reals reals;
  for (const std::optional<double>& sum : sums) reals.push_back(*sum / count);
  Sizes& dims = keeps ? kept : rest;
  if (x->is_real()) {
    return Constants{MakeConstant(x->type, dims, std::move(reals))};
  }
  const Constant wide = {.type = ElementType::kDouble, .elements = reals};
  Integers integers;
  for (size_t i = 0; i < reals.size(); ++i) integers.push_back(wide.integer(i));
  return Constants{MakeConstant(x->type, dims, std::move(integers))};
}

}  // namespace

Folder FindReduction(std::string_view op) {
  return FindJoin(op) != nullptr ? FoldReduction : nullptr;
}

}  // namespace spillway::onnx_model
