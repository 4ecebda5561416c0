// Parts of tensors: Concat, Slice, Split, Gather.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "base/status_macros.h"
#include "onnx_model/op_family/axes.h"
#include "onnx_model/op_family/classes.h"
#include "onnx_model/op_family/op_table.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

absl::Status CheckConcat(const NodeConversion& node, int axis) {
  for (int i = 1; i < node.node().num_inputs(); ++i) {
    if (!node.has(i)) return InvalidArgument("leaves an input out");
    Sizes first = node.dims(0);
    Sizes other = node.dims(i);
    if (first.size() == other.size()) {
      first[static_cast<size_t>(axis)] = other[static_cast<size_t>(axis)] = 0;
    }
    if (first != other) {
      return InvalidArgument(fmt::format("its inputs are {} and {}",
                                         Shape(node.dims(0)).ToString(),
                                         Shape(node.dims(i)).ToString()));
    }
  }
  return absl::OkStatus();
}

// All inputs as the largest of them lies.
absl::Status ConvertConcat(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", 1));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, node.rank(0)));
  SPILLWAY_RETURN_IF_ERROR(CheckConcat(node, axis));
  const int count = node.node().num_inputs();
  std::vector<Arranged> xs;
  int64_t size = 0;
  for (int i = 0; i < count; ++i) {
    SPILLWAY_ASSIGN_OR_RETURN(xs.emplace_back(), node.Input(i));
    if (!xs.back().tensor.is_valid()) return absl::OkStatus();
    size += xs.back().dims.dim(axis);
  }
  Arranged like = *std::ranges::max_element(
      xs, {}, [](const Arranged& x) { return x.dims.num_elements(); });
  if (!like.OnlyAxis(axis).has_value()) {
    like = AsIs(Ordered(node.scope(), like, Identity(like.rank())));
  }
  std::vector<Tensor> tensors;
  for (const Arranged& x : xs) {
    std::optional<Tensor> tensor = Matching(node.scope(), x, like);
    if (!tensor.has_value()) break;
    tensors.push_back(*tensor);
  }
  if (tensors.size() < xs.size()) {
    tensors.clear();
    for (const Arranged& x : xs) {
      tensors.push_back(Ordered(node.scope(), x, Identity(x.rank())));
    }
    like = AsIs(tensors.front());
  }
  like.tensor =
      node.Add("Concat", tensors, {{"axis", int64_t{*like.OnlyAxis(axis)}}});
  SetDim(like, axis, size);
  node.Set(0, like);
  return absl::OkStatus();
}

struct SliceRange {
  std::vector<int> dims = {};
  Sizes begins = {};
  Sizes sizes = {};
  Sizes steps = {};
};

struct SliceInputs {
  Sizes starts = {};
  Sizes ends = {};
  std::optional<Sizes> axes = {};
  Sizes steps = {};
};

absl::StatusOr<SliceInputs> ReadSlice(NodeConversion& node) {
  SliceInputs inputs;
  if (node.opset() < 10) {
    SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Sizes> starts,
                              node.node().Ints("starts"));
    SPILLWAY_ASSIGN_OR_RETURN(const std::optional<Sizes> ends,
                              node.node().Ints("ends"));
    SPILLWAY_ASSIGN_OR_RETURN(inputs.axes, node.node().Ints("axes"));
    inputs.starts = starts.value_or(Sizes());
    inputs.ends = ends.value_or(Sizes());
    return inputs;
  }
  if (!node.has(1) || !node.has(2)) {
    return InvalidArgument("has no starts or no ends");
  }
  SPILLWAY_ASSIGN_OR_RETURN(inputs.starts, node.IntegersInput(1));
  SPILLWAY_ASSIGN_OR_RETURN(inputs.ends, node.IntegersInput(2));
  if (node.has(3)) {
    SPILLWAY_ASSIGN_OR_RETURN(inputs.axes, node.IntegersInput(3));
  }
  if (node.has(4)) {
    SPILLWAY_ASSIGN_OR_RETURN(inputs.steps, node.IntegersInput(4));
  }
  return inputs;
}

absl::StatusOr<SliceRange> RangeOf(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(SliceInputs inputs, ReadSlice(node));
  const size_t count = inputs.starts.size();
  if (!inputs.axes.has_value()) {
    inputs.axes.emplace(count);
    std::iota(inputs.axes->begin(), inputs.axes->end(), 0);
  }
  if (inputs.steps.empty()) inputs.steps.assign(count, 1);
  if (inputs.ends.size() != count || inputs.axes->size() != count ||
      inputs.steps.size() != count) {
    return InvalidArgument("starts, ends, axes and steps differ in length");
  }
  SliceRange range;
  SPILLWAY_ASSIGN_OR_RETURN(range.dims, node.Axes(*inputs.axes, node.rank(0)));
  for (size_t i = 0; i < count; ++i) {
    const int64_t dim = node.dims(0)[static_cast<size_t>(range.dims[i])];
    const int64_t step = inputs.steps[i];
    if (step == 0) return InvalidArgument("a step of 0");
    // Backwards, a walk begins at the last element at most and ends before the
    // first at most.
    const int64_t low = step < 0 ? -1 : 0;
    const int64_t high = step < 0 ? dim - 1 : dim;
    const auto place = [=](int64_t at) {
      return std::clamp<int64_t>(at < 0 && at >= -dim ? at + dim : at, low,
                                 high);
    };
    const int64_t begin = place(inputs.starts[i]);
    const int64_t length = place(inputs.ends[i]) - begin;
    range.begins.push_back(begin);
    range.steps.push_back(step);
    // Rounded up; of different signs, at most 0.
    range.sizes.push_back(length / step + (length % step != 0 ? 1 : 0));
    if (range.sizes.back() < 1 || (length < 0) != (step < 0)) {
      return InvalidArgument("has an output without elements");
    }
  }
  return range;
}

// Dimension by dimension, from the elements themselves.
absl::Status SliceBySteps(NodeConversion& node, const SliceRange& range) {
  SPILLWAY_ASSIGN_OR_RETURN(Tensor x,
                            node.InputInOrder(0, Identity(node.rank(0))));
  for (size_t i = 0; i < range.dims.size(); ++i) {
    SPILLWAY_RETURN_IF_ERROR(CheckConstantSize(range.sizes[i]));
    Sizes indices;
    for (int64_t k = 0; k < range.sizes[i]; ++k) {
      indices.push_back(range.begins[i] + k * range.steps[i]);
    }
    x = GatherRows(node, x, IndexList(node, indices, Shape({range.sizes[i]})),
                   range.dims[i]);
  }
  if (x.is_valid()) node.Set(0, AsIs(x));
  return absl::OkStatus();
}

absl::Status ConvertSlice(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const SliceRange range, RangeOf(node));
  if (std::ranges::any_of(range.steps,
                          [](int64_t step) { return step != 1; })) {
    return SliceBySteps(node, range);
  }
  SPILLWAY_ASSIGN_OR_RETURN(Arranged x, WithAxes(node, 0, range.dims));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  const Shape shape = x.tensor.shape();
  Sizes begins(static_cast<size_t>(shape.rank()), 0);
  Sizes sizes = shape.dims();
  for (size_t i = 0; i < range.dims.size(); ++i) {
    const auto axis = static_cast<size_t>(*x.OnlyAxis(range.dims[i]));
    begins[axis] = range.begins[i];
    sizes[axis] = range.sizes[i];
    SetDim(x, range.dims[i], range.sizes[i]);
  }
  if (Shape(sizes) == shape) {
    node.SetToInput(0, 0);
    return absl::OkStatus();
  }
  x.tensor =
      node.Add("Slice", {x.tensor}, {{"begin", begins}, {"size", sizes}});
  node.Set(0, x);
  return absl::OkStatus();
}

// Sizes of the parts: stated, or as equal as possible.
absl::StatusOr<Sizes> SplitSizes(NodeConversion& node, int64_t dim) {
  std::optional<Sizes> stated;
  if (node.opset() < 13) {
    SPILLWAY_ASSIGN_OR_RETURN(stated, node.node().Ints("split"));
  } else if (node.has(1)) {
    SPILLWAY_ASSIGN_OR_RETURN(stated.emplace(), node.IntegersInput(1));
  }
  const auto outputs = static_cast<int64_t>(node.node().num_outputs());
  if (outputs < 1) return InvalidArgument("has no output");
  if (!stated.has_value()) {
    const int64_t size = (dim + outputs - 1) / outputs;
    stated.emplace(static_cast<size_t>(outputs), size);
    stated->back() = dim - size * (outputs - 1);
  }
  const int64_t sum =
      std::accumulate(stated->begin(), stated->end(), int64_t{0});
  if (static_cast<int64_t>(stated->size()) != outputs || sum != dim ||
      std::ranges::any_of(*stated, [](int64_t size) { return size < 1; })) {
    return InvalidArgument(fmt::format("parts of {} of a dimension of {}",
                                       Shape(*stated).ToString(), dim));
  }
  return *stated;
}

absl::Status ConvertSplit(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, node.rank(0)));
  SPILLWAY_ASSIGN_OR_RETURN(
      const Sizes sizes,
      SplitSizes(node, node.dims(0)[static_cast<size_t>(axis)]));
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, WithAxes(node, 0, {axis}));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  int64_t begin = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (node.node().has_output(static_cast<int>(i))) {
      node.Set(static_cast<int>(i), SliceOf(node, x, axis, begin, sizes[i]));
    }
    begin += sizes[i];
  }
  return absl::OkStatus();
}

// The dimensions of the result: those of the indices in place of `axis`.
Sizes GatheredDims(const Sizes& dims, const Sizes& indices, int axis) {
  Sizes result = dims;
  result.erase(result.begin() + axis);
  result.insert(result.begin() + axis, indices.begin(), indices.end());
  return result;
}

// One index that is known: a slice.
absl::Status GatherOne(NodeConversion& node, int axis, int64_t index) {
  const int64_t size = node.dims(0)[static_cast<size_t>(axis)];
  if (index < -size || index >= size) {
    return InvalidArgument(
        fmt::format("index {} of a dimension of {}", index, size));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, WithAxes(node, 0, {axis}));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  const Arranged part =
      SliceOf(node, x, axis, index < 0 ? index + size : index, 1);
  if (!part.tensor.is_valid()) return absl::OkStatus();
  const Sizes dims = GatheredDims(node.dims(0), node.dims(1), axis);
  node.Set(0, Reshaped(node.scope(), part, Shape(dims)));
  return absl::OkStatus();
}

// Indices that are constant, counted from the start.
absl::StatusOr<Tensor> ConstantIndices(NodeConversion& node, int64_t size) {
  SPILLWAY_ASSIGN_OR_RETURN(Sizes indices, node.IntegersInput(1));
  for (int64_t& index : indices) {
    if (index < -size || index >= size) {
      return InvalidArgument(
          fmt::format("index {} of a dimension of {}", index, size));
    }
    if (index < 0) index += size;
  }
  return IndexList(node, indices, Shape(node.dims(1)));
}

absl::Status ConvertGather(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, node.rank(0)));
  if (IsFloating(node.type(1))) {
    return InvalidArgument(
        fmt::format("its indices are of {}", ElementTypeName(node.type(1))));
  }
  Tensor indices;
  if (node.IsConstant(1)) {
    SPILLWAY_ASSIGN_OR_RETURN(const Sizes values, node.IntegersInput(1));
    if (values.size() == 1) return GatherOne(node, axis, values[0]);
    SPILLWAY_ASSIGN_OR_RETURN(
        indices,
        ConstantIndices(node, node.dims(0)[static_cast<size_t>(axis)]));
  } else {
    SPILLWAY_ASSIGN_OR_RETURN(indices,
                              node.InputInOrder(1, Identity(node.rank(1))));
  }
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor table,
                            node.InputInOrder(0, Identity(node.rank(0))));
  Tensor y = GatherRows(node, table, indices, axis);
  const DType dtype = node.state().options().dtype;
  if (y.is_valid() && IsFloating(node.type(0)) && y.dtype() != dtype) {
    y = node.Helper("Cast", {y}, {{"dtype", dtype}});
  }
  if (y.is_valid()) node.Set(0, AsIs(y));
  return absl::OkStatus();
}

// The first elements of each dimension but `axis`, where there are more than in
// `dims`; `axis` last.
absl::StatusOr<Tensor> Corner(NodeConversion& node, const Sizes& dims, int axis,
                              const Order& order) {
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor x, node.InputInOrder(0, order));
  if (!x.is_valid()) return x;
  Sizes sizes = x.shape().dims();
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    sizes[i] = dims[static_cast<size_t>(order[i])];
    if (sizes[i] > x.shape().dims()[i]) {
      return InvalidArgument(fmt::format(
          "indices {} are more than the input's {} beside axis {}",
          Shape(dims).ToString(), Shape(node.dims(0)).ToString(), axis));
    }
  }
  if (Shape(sizes) == x.shape()) return x;
  return node.Helper("Slice", {x},
                     {{"begin", Sizes(sizes.size(), 0)}, {"size", sizes}});
}

// Of all elements along the axis, the one whose place is the index.
absl::Status ConvertGatherElements(NodeConversion& node) {
  const int rank = node.rank(0);
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, rank));
  if (!IsFloating(node.type(0)) || !IsInteger(node.type(1)) ||
      node.rank(1) != rank) {
    return Unimplemented(fmt::format(
        "{} with indices {} of {} dimensions", ElementTypeName(node.type(0)),
        ElementTypeName(node.type(1)), node.rank(1)));
  }
  Order order = Identity(rank);
  order.erase(order.begin() + axis);
  order.push_back(axis);
  SPILLWAY_ASSIGN_OR_RETURN(Tensor x, Corner(node, node.dims(1), axis, order));
  SPILLWAY_ASSIGN_OR_RETURN(const Tensor indices, node.InputInOrder(1, order));
  if (!x.is_valid() || !indices.is_valid()) return absl::OkStatus();
  const int64_t n = x.shape().dim(-1);
  SPILLWAY_RETURN_IF_ERROR(CheckConstantSize(n));
  Sizes dims = x.shape().dims();
  dims.insert(dims.end() - 1, 1);
  x = node.Helper("Reshape", {x}, {{"shape", Shape(dims)}});
  const Tensor is_place = IsPlace(node, indices, n);
  const Tensor chosen = node.Helper("Select", {is_place, x, node.Number(0, x)});
  const Tensor y = node.Add("Sum", {chosen}, {{"axes", Sizes{-1}}});
  if (y.is_valid()) node.Set(0, InOrder(y, order));
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 5> kSelectionOps = {{
    {"Concat", 1, kAnyNumber, ConvertConcat},
    {"Gather", 2, 2, ConvertGather},
    {"GatherElements", 2, 2, ConvertGatherElements},
    {"Slice", 1, 5, ConvertSlice},
    {"Split", 1, 2, ConvertSplit},
}};

}  // namespace

std::span<const OpEntry> SelectionOps() { return kSelectionOps; }

}  // namespace spillway::onnx_model
