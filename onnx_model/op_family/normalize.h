// Normalisation over any dimensions, as nodes of arithmetic.
#ifndef SPILLWAY_ONNX_MODEL_OP_FAMILY_NORMALIZE_H_
#define SPILLWAY_ONNX_MODEL_OP_FAMILY_NORMALIZE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "onnx_model/convert/node_conversion.h"

namespace spillway::onnx_model {

// Input 0 with channels (dimension 1) as the last axis of its tensor; other
// dimensions stay where they are if that is so already.
absl::StatusOr<Arranged> ChannelsAtEnd(NodeConversion& node);

struct Normalized {
  Arranged y = {};
  Arranged mean = {};
  Arranged variance = {};
  Arranged inv_std = {};
};

// y = (x - mean) / sqrt(variance + epsilon), over `dims`, which are 1 in the
// statistics. After an error of the builder, y has no tensor.
absl::StatusOr<Normalized> NormalizeOver(NodeConversion& node,
                                         const Arranged& x,
                                         const std::vector<int>& dims,
                                         double epsilon);

// y scale + offset, which are inputs 1 and 2 of the node, seen as `dims`.
absl::StatusOr<Arranged> ScaleAndMove(NodeConversion& node, Arranged y,
                                      const Shape& dims);

}  // namespace spillway::onnx_model

#endif  // SPILLWAY_ONNX_MODEL_OP_FAMILY_NORMALIZE_H_
