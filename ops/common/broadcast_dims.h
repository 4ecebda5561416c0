// NumPy's broadcasting: shapes are compared from the last dimension on, and a
// dimension of 1 (or one that is missing) is repeated.
#ifndef SPILLWAY_OPS_COMMON_BROADCAST_DIMS_H_
#define SPILLWAY_OPS_COMMON_BROADCAST_DIMS_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/shape.h"

namespace spillway {

// The shape that all have after repetition. Errors: INVALID_ARGUMENT with the
// shapes if there is none.
absl::StatusOr<Shape> BroadcastShape(std::span<const Shape> shapes);

// The result's dimensions, with neighbours merged that every operand repeats,
// or walks through, alike; at least one. `steps[k]` is the distance, in
// elements of operand k, between neighbours of the dimension: 0 where it is
// repeated.
struct BroadcastDim {
  int64_t size = 1;
  std::array<int64_t, 3> steps = {0, 0, 0};
};
// Of one to three operands, whose shapes can be broadcast (CHECKed). The last
// dimension has steps of 0 or 1.
std::vector<BroadcastDim> MergedDims(std::span<const Shape> shapes);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_BROADCAST_DIMS_H_
