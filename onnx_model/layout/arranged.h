// How a tensor of the graph holds a value of an ONNX model.
//
// ONNX puts channels first, our convolutions put them last, and a model's
// Transpose and Reshape nodes mostly say how the same elements are to be seen.
// So each imported value is a tensor together with a note of where the value's
// dimensions are in it:
//
//   value [N, C, H, W]         tensor [n, h, w, c]   axes {0}, {3}, {1}, {2}
//   after its Flatten [N, CHW] the same tensor       axes {0}, {3, 1, 2}
//   after Transpose (1, 0)     the same tensor       axes {3, 1, 2}, {0}
//
// Permute and Regroup change the note alone. Only an op that wants another
// order than the tensor has makes a Transpose node, so of a chain of layers
// that agree none remains (onnx_model/convert/).
#ifndef SPILLWAY_ONNX_MODEL_LAYOUT_ARRANGED_H_
#define SPILLWAY_ONNX_MODEL_LAYOUT_ARRANGED_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/builder/builder.h"

namespace spillway::onnx_model {

// A permutation of dimensions: place i has dimension order[i].
using Order = std::vector<int>;

// The product of the dimensions.
int64_t CountOf(const std::vector<int64_t>& dims);

Order Identity(int rank);
// (0, 2, .., rank - 1, 1): N, spatial dimensions, C.
Order ChannelsLast(int rank);

struct Arranged {
  Tensor tensor = {};
  Shape dims = {};  // of the value, as the model has them
  // For each dimension the axes of `tensor` that it is made of, outermost
  // first. Each axis is listed once; an axis of size 1 may be left out.
  std::vector<std::vector<int>> axes = {};

  int rank() const { return dims.rank(); }
  // The one axis of dimension `dim`; nullopt if it has none or several. Axes of
  // size 1 are not counted beside others.
  std::optional<int> OnlyAxis(int dim) const;
};

// The tensor is the value.
Arranged AsIs(Tensor tensor);
// The tensor has the value's dimensions in this order. Its shape says which
// dimensions the value has.
Arranged InOrder(Tensor tensor, const Order& order);

// Dimension i of the result is dimension order[i] of `x`. No node.
Arranged Permute(const Arranged& x, const Order& order);

// The value under other dimensions, of as many elements. Adds at most a
// Reshape. Nullopt if a new dimension is made of parts of the tensor that are
// no whole axes: the caller orders the tensor first.
std::optional<Arranged> Regroup(const NameScope& scope, const Arranged& x,
                                const Shape& dims);

// The tensor with the value's dimensions in `order`: `x.tensor` itself where it
// has them; adds a Transpose, a Reshape or both otherwise.
Tensor Ordered(const NameScope& scope, const Arranged& x, const Order& order);

// Whether Ordered moves no bytes.
bool LiesIn(const Arranged& x, const Order& order);

// `x` under `dims`, whatever that takes.
Arranged Reshaped(const NameScope& scope, const Arranged& x, const Shape& dims);

// The tensor of `x` as that of `like` is arranged: axis by axis, an axis of
// `like` has its part of `x`, or size 1 where the dimension of `x` is 1. Both
// values have one rank; dimensions of one axis may differ in size. Nullopt if
// `x` has a dimension that cannot be divided as that of `like` is.
std::optional<Tensor> Matching(const NameScope& scope, const Arranged& x,
                               const Arranged& like);

// Leading dimensions of 1 until the value has `rank`. No node.
Arranged RaiseRank(const Arranged& x, int rank);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_LAYOUT_ARRANGED_H_
