// Parts of tensors that lie side by side: Concat, Slice, Split, and sequences
// of parts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "base/counted.h"
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

absl::Status CheckParts(const Sizes& sizes, int64_t dim) {
  int64_t rest = dim;
  for (const int64_t size : sizes) {
    if (size < 1 || size > rest) rest = -1;
    if (rest < 0) break;
    rest -= size;
  }
  if (rest == 0) return absl::OkStatus();
  return InvalidArgument(fmt::format("parts of {} of a dimension of {}",
                                     Shape(sizes).ToString(), dim));
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
  SPILLWAY_RETURN_IF_ERROR(CheckParts(*stated, dim));
  if (static_cast<int64_t>(stated->size()) != outputs) {
    return InvalidArgument(fmt::format("has {}, but {}",
                                       Counted(outputs, "output"),
                                       Counted(stated->size(), "part")));
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

// Sizes of a sequence's elements: stated, all alike but the last, or 1.
absl::StatusOr<Sizes> ElementSizes(NodeConversion& node, int64_t dim) {
  Sizes stated = {1};
  if (node.has(1)) {
    SPILLWAY_ASSIGN_OR_RETURN(stated, node.IntegersInput(1));
  }
  if (!node.has(1) || node.rank(1) == 0) {
    const int64_t size = stated[0];
    if (size < 1) return InvalidArgument(fmt::format("parts of {}", size));
    const int64_t count = (dim + size - 1) / size;
    if (count > kAnyNumber) {
      return Unimplemented(fmt::format("{} parts", count));
    }
    stated.assign(static_cast<size_t>(count), size);
    stated.back() = dim - size * (count - 1);
  }
  SPILLWAY_RETURN_IF_ERROR(CheckParts(stated, dim));
  return stated;
}

// What PyTorch's newer exporter writes for split and chunk.
absl::Status ConvertSplitToSequence(NodeConversion& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const int64_t stated, node.node().Int("axis", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const int axis, node.Axis(stated, node.rank(0)));
  SPILLWAY_ASSIGN_OR_RETURN(const bool keeps,
                            node.node().Bool("keepdims", true));
  SPILLWAY_ASSIGN_OR_RETURN(
      Sizes sizes, ElementSizes(node, node.dims(0)[static_cast<size_t>(axis)]));
  SPILLWAY_ASSIGN_OR_RETURN(const Arranged x, WithAxes(node, 0, {axis}));
  if (!x.tensor.is_valid()) return absl::OkStatus();
  node.SetSequence(0, {.x = x,
                       .axis = axis,
                       .sizes = std::move(sizes),
                       // Without `split`, the axis may go.
                       .keeps_axis = keeps || node.has(1)});
  return absl::OkStatus();
}

absl::Status ConvertSequenceAt(NodeConversion& node) {
  const std::optional<SplitSequence>& sequence = node.value(0).sequence;
  if (!sequence.has_value()) return InvalidArgument("its input is no sequence");
  SPILLWAY_ASSIGN_OR_RETURN(const Sizes place, node.IntegersInput(1));
  const auto count = static_cast<int64_t>(sequence->sizes.size());
  if (place.size() != 1 || place[0] < -count || place[0] >= count) {
    return InvalidArgument(
        fmt::format("has no place among {}", Counted(count, "element")));
  }
  const auto at =
      static_cast<size_t>(place[0] < 0 ? place[0] + count : place[0]);
  const auto sizes = sequence->sizes.begin();
  const int64_t begin =
      std::accumulate(sizes, sizes + static_cast<int64_t>(at), int64_t{0});
  Arranged part =
      SliceOf(node, sequence->x, sequence->axis, begin, sequence->sizes[at]);
  if (!part.tensor.is_valid()) return absl::OkStatus();
  if (!sequence->keeps_axis) {
    Sizes dims = part.dims.dims();
    dims.erase(dims.begin() + sequence->axis);
    part = Reshaped(node.scope(), part, Shape(dims));
  }
  node.Set(0, part);
  return absl::OkStatus();
}

constexpr std::array<OpEntry, 5> kSelectionOps = {{
    {"Concat", 1, kAnyNumber, ConvertConcat},
    {"SequenceAt", 2, 2, ConvertSequenceAt},
    {"Slice", 1, 5, ConvertSlice},
    {"Split", 1, 2, ConvertSplit},
    {"SplitToSequence", 1, 2, ConvertSplitToSequence},
}};

}  // namespace

std::span<const OpEntry> SelectionOps() { return kSelectionOps; }

}  // namespace spillway::onnx_model
