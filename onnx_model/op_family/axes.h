// Dimensions of a value that an op changes, as axes of its tensor.
#ifndef SPILLWAY_ONNX_MODEL_OP_FAMILY_AXES_H_
#define SPILLWAY_ONNX_MODEL_OP_FAMILY_AXES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/convert/node_conversion.h"

namespace spillway::onnx_model {

// The value with each of `dims` as an axis of its own.
absl::StatusOr<Arranged> WithAxes(NodeConversion& node, int input,
                                  const std::vector<int>& dims);

// The axes of the tensor that hold these dimensions, in order; dimensions of 1
// may have none.
std::vector<int64_t> TensorAxes(const Arranged& x,
                                const std::vector<int>& dims);

// Says that the dimension has this size now.
void SetDim(Arranged& x, int dim, int64_t size);

// `size` elements from `begin` of dimension `dim`, which has an axis.
Arranged SliceOf(NodeConversion& node, Arranged x, int dim, int64_t begin,
                 int64_t size);

// A constant of int32.
Tensor IndexList(NodeConversion& node, const std::vector<int64_t>& indices,
                 Shape shape);

// Gather, whose gradient adds up rows in float32.
Tensor GatherRows(NodeConversion& node, Tensor x, Tensor indices, int axis);

// Each element along the axis so often.
Tensor RepeatElements(NodeConversion& node, Tensor x, int axis, int64_t times);

// Element i along the axis of the result is the sum of x's elements along it,
// times row i of the matrix.
Tensor TimesMatrix(NodeConversion& node, Tensor x, int axis,
                   const Reals& matrix);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_OP_FAMILY_AXES_H_
