#include "onnx_model/layout/arranged.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace spillway::onnx_model {
namespace {

using Sizes = std::vector<int64_t>;

Tensor ReshapeTo(const NameScope& scope, Tensor x, const Sizes& shape) {
  if (x.shape().dims() == shape) return x;
  return scope.builder().Add(
      scope,
      {.op = "Reshape", .inputs = {x}, .attributes = {{"shape", shape}}});
}

Tensor TransposeTo(const NameScope& scope, Tensor x,
                   const std::vector<int>& perm) {
  if (std::ranges::is_sorted(perm)) return x;
  return scope.builder().Add(
      scope, {.op = "Transpose",
              .inputs = {x},
              .attributes = {{"perm", Sizes(perm.begin(), perm.end())}}});
}

// Brings the axes of `x` in the order `axes`; those of size 1 that it leaves
// out go to the end. Only moves bytes if axes of several elements change
// places.
Tensor OrderAxes(const NameScope& scope, Tensor x, std::vector<int> axes,
                 const Sizes& shape) {
  const Shape sizes = x.shape();
  std::vector<int> moving;
  for (const int axis : axes) {
    if (sizes.dim(axis) != 1) moving.push_back(axis);
  }
  if (std::ranges::is_sorted(moving)) return ReshapeTo(scope, x, shape);
  for (int axis = 0; axis < sizes.rank(); ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) axes.push_back(axis);
  }
  return ReshapeTo(scope, TransposeTo(scope, x, axes), shape);
}

// The tensor axes of a value being divided further. Part i of an axis is the
// i-th factor, outermost first.
class AxisSplitter {
 public:
  explicit AxisSplitter(const Arranged& x) : x_(x) {
    const Shape shape = x.tensor.shape();
    for (const int64_t size : shape.dims()) parts_.push_back({size});
  }

  // Divides part `part` of `axis` into `outer` and the rest.
  void Split(int axis, size_t part, int64_t outer) {
    Sizes& sizes = parts_[static_cast<size_t>(axis)];
    const int64_t inner = sizes[part] / outer;
    sizes[part] = outer;
    sizes.insert(sizes.begin() + static_cast<int64_t>(part) + 1, inner);
  }

  int64_t size(int axis, size_t part) const {
    return parts_[static_cast<size_t>(axis)][part];
  }

  // The number that part `part` of `axis` has among the new axes.
  int NewAxis(int axis, size_t part) const {
    size_t before = part;
    for (int i = 0; i < axis; ++i)
      before += parts_[static_cast<size_t>(i)].size();
    return static_cast<int>(before);
  }

  Sizes NewShape() const {
    Sizes shape;
    for (const Sizes& sizes : parts_) {
      shape.insert(shape.end(), sizes.begin(), sizes.end());
    }
    return shape;
  }

  // The tensor with its new axes; nullopt if it would have too many.
  std::optional<Tensor> Apply(const NameScope& scope) const {
    const Sizes shape = NewShape();
    if (shape.size() > static_cast<size_t>(Shape::kMaxRank)) {
      return std::nullopt;
    }
    return ReshapeTo(scope, x_.tensor, shape);
  }

 private:
  const Arranged& x_;
  std::vector<Sizes> parts_;
};

// A part of an axis of the old tensor.
struct Part {
  int axis = 0;
  size_t part = 0;
};

// The axes (of several elements) of dimensions, in the value's order.
std::vector<int> AxesInOrder(const Arranged& x) {
  std::vector<int> axes;
  for (const std::vector<int>& of_dim : x.axes) {
    for (const int axis : of_dim) {
      if (x.tensor.shape().dim(axis) != 1) axes.push_back(axis);
    }
  }
  return axes;
}

// Divides a row of axes, one after the other, into groups of these sizes. Empty
// if a group would end within an axis that it does not divide.
std::optional<std::vector<std::vector<Part>>> Divide(
    const std::vector<int>& axes, const Sizes& groups, AxisSplitter& splitter) {
  std::vector<std::vector<Part>> parts(groups.size());
  size_t next = 0;  // of `axes`
  size_t part = 0;  // within that axis
  for (size_t group = 0; group < groups.size(); ++group) {
    int64_t rest = groups[group];
    while (rest > 1) {
      if (next == axes.size()) return std::nullopt;
      const int axis = axes[next];
      const int64_t size = splitter.size(axis, part);
      if (rest % size == 0) {
        parts[group].push_back({axis, part});
        rest /= size;
        ++next;
        part = 0;
      } else if (size % rest == 0) {
        splitter.Split(axis, part, rest);
        parts[group].push_back({axis, part});
        rest = 1;
        ++part;
      } else {
        return std::nullopt;
      }
    }
  }
  return parts;
}

// What dimension `dim` of `x` has to be divided into, to match that of `like`:
// the sizes of its axes of several elements.
Sizes WantedParts(const Arranged& x, const Arranged& like, int dim) {
  if (x.dims.dim(dim) == 1) return {};
  Sizes sizes;
  for (const int axis : like.axes[static_cast<size_t>(dim)]) {
    const int64_t size = like.tensor.shape().dim(axis);
    if (size != 1) sizes.push_back(size);
  }
  if (sizes.size() < 2) return {x.dims.dim(dim)};
  return sizes;
}

// The axis of `like` that part `index` of WantedParts belongs to.
std::vector<int> WantedAxes(const Arranged& x, const Arranged& like, int dim) {
  if (x.dims.dim(dim) == 1) return {};
  std::vector<int> axes;
  for (const int axis : like.axes[static_cast<size_t>(dim)]) {
    if (like.tensor.shape().dim(axis) != 1) axes.push_back(axis);
  }
  const std::vector<int>& all = like.axes[static_cast<size_t>(dim)];
  if (axes.empty() && !all.empty()) axes.push_back(all.front());
  return axes;
}

}  // namespace

int64_t CountOf(const std::vector<int64_t>& dims) {
  return Shape(dims).num_elements();
}

Order Identity(int rank) {
  Order order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Order ChannelsLast(int rank) {
  Order order = Identity(rank);
  if (rank > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

std::optional<int> Arranged::OnlyAxis(int dim) const {
  const std::vector<int>& all = axes[static_cast<size_t>(dim)];
  std::vector<int> wide;
  for (const int axis : all) {
    if (tensor.shape().dim(axis) != 1) wide.push_back(axis);
  }
  if (wide.size() == 1) return wide.front();
  if (wide.empty() && !all.empty()) return all.front();
  return std::nullopt;
}

Arranged AsIs(Tensor tensor) {
  return InOrder(tensor, Identity(tensor.shape().rank()));
}

Arranged InOrder(Tensor tensor, const Order& order) {
  const Shape shape = tensor.shape();
  SPILLWAY_CHECK(order.size() == static_cast<size_t>(shape.rank()));
  Sizes dims(order.size());
  std::vector<std::vector<int>> axes(order.size());
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto dim = static_cast<size_t>(order[static_cast<size_t>(axis)]);
    dims[dim] = shape.dim(axis);
    axes[dim] = {axis};
  }
  return {.tensor = tensor, .dims = Shape(dims), .axes = axes};
}

Arranged Permute(const Arranged& x, const Order& order) {
  Arranged result = {.tensor = x.tensor};
  Sizes dims;
  for (const int dim : order) {
    dims.push_back(x.dims.dim(dim));
    result.axes.push_back(x.axes[static_cast<size_t>(dim)]);
  }
  result.dims = Shape(dims);
  return result;
}

std::optional<Arranged> Regroup(const NameScope& scope, const Arranged& x,
                                const Shape& dims) {
  SPILLWAY_CHECK(dims.num_elements() == x.dims.num_elements());
  AxisSplitter splitter(x);
  const std::optional<std::vector<std::vector<Part>>> parts =
      Divide(AxesInOrder(x), dims.dims(), splitter);
  if (!parts.has_value()) return std::nullopt;
  const std::optional<Tensor> tensor = splitter.Apply(scope);
  if (!tensor.has_value()) return std::nullopt;
  Arranged result = {.tensor = *tensor, .dims = dims};
  for (const std::vector<Part>& of_dim : *parts) {
    std::vector<int>& axes = result.axes.emplace_back();
    for (const Part& part : of_dim) {
      axes.push_back(splitter.NewAxis(part.axis, part.part));
    }
  }
  return result;
}

Tensor Ordered(const NameScope& scope, const Arranged& x, const Order& order) {
  if (!x.tensor.is_valid()) return {};
  std::vector<int> axes;
  Sizes shape;
  for (const int dim : order) {
    const std::vector<int>& of_dim = x.axes[static_cast<size_t>(dim)];
    axes.insert(axes.end(), of_dim.begin(), of_dim.end());
    shape.push_back(x.dims.dim(dim));
  }
  return OrderAxes(scope, x.tensor, std::move(axes), shape);
}

bool LiesIn(const Arranged& x, const Order& order) {
  const Shape shape = x.tensor.shape();
  std::vector<int> axes;
  for (const int dim : order) {
    for (const int axis : x.axes[static_cast<size_t>(dim)]) {
      if (shape.dim(axis) != 1) axes.push_back(axis);
    }
  }
  return std::ranges::is_sorted(axes);
}

Arranged Reshaped(const NameScope& scope, const Arranged& x,
                  const Shape& dims) {
  if (!x.tensor.is_valid()) return x;
  if (std::optional<Arranged> regrouped = Regroup(scope, x, dims)) {
    return *std::move(regrouped);
  }
  const Tensor ordered = Ordered(scope, x, Identity(x.rank()));
  return AsIs(ReshapeTo(scope, ordered, dims.dims()));
}

std::optional<Tensor> Matching(const NameScope& scope, const Arranged& x,
                               const Arranged& like) {
  SPILLWAY_CHECK(x.rank() == like.rank());
  AxisSplitter splitter(x);
  const Shape like_shape = like.tensor.shape();
  Sizes shape(static_cast<size_t>(like_shape.rank()), 1);
  // For each axis of `like`, the parts of `x` that go there.
  std::vector<std::vector<Part>> places(shape.size());
  for (int dim = 0; dim < x.rank(); ++dim) {
    const Sizes sizes = WantedParts(x, like, dim);
    const std::vector<int> wanted = WantedAxes(x, like, dim);
    // `like` has nothing to say about a dimension that is 1 and has no axis.
    if (wanted.size() != sizes.size()) return std::nullopt;
    std::vector<int> axes;
    for (const int axis : x.axes[static_cast<size_t>(dim)]) {
      if (x.tensor.shape().dim(axis) != 1) axes.push_back(axis);
    }
    const auto parts = Divide(axes, sizes, splitter);
    if (!parts.has_value() || CountOf(sizes) != x.dims.dim(dim)) {
      return std::nullopt;
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      const auto axis = static_cast<size_t>(wanted[i]);
      shape[axis] = sizes[i];
      places[axis] = (*parts)[i];
    }
  }
  const std::optional<Tensor> divided = splitter.Apply(scope);
  if (!divided.has_value()) return std::nullopt;
  std::vector<int> order;
  for (const std::vector<Part>& place : places) {
    for (const Part& part : place) {
      order.push_back(splitter.NewAxis(part.axis, part.part));
    }
  }
  return OrderAxes(scope, *divided, std::move(order), shape);
}

Arranged RaiseRank(const Arranged& x, int rank) {
  Arranged result = x;
  const auto missing = static_cast<size_t>(std::max(rank - x.rank(), 0));
  Sizes dims = x.dims.dims();
  dims.insert(dims.begin(), missing, 1);
  result.dims = Shape(dims);
  result.axes.insert(result.axes.begin(), missing, {});
  return result;
}

}  // namespace spillway::onnx_model
