// A copy of an N-dimensional box of elements between two strided layouts, as
// done by ops/cpu/strided_copy.h and ops/gpu/strided_box.h.
#ifndef SPILLWAY_OPS_COMMON_STRIDED_COPY_H_
#define SPILLWAY_OPS_COMMON_STRIDED_COPY_H_

#include <cstdint>
#include <vector>

#include "graph/shape.h"

namespace spillway {

// Strides in elements, outermost dimension first. A from_stride of 0 repeats
// elements.
struct StridedCopy {
  std::vector<int64_t> sizes;
  std::vector<int64_t> from_strides;
  std::vector<int64_t> to_strides;
  int64_t element_bytes = 4;  // 1, 2, 4 or 8
  // Elements of each tensor before the box.
  int64_t from_start = 0;
  int64_t to_start = 0;
};

// [12, 4, 1] for the shape [2, 3, 4].
std::vector<int64_t> RowMajorStrides(const Shape& shape);

// The same copy without dimensions of size 1, and with adjacent dimensions
// merged if both layouts allow it; at least one dimension is left.
StridedCopy Simplify(const StridedCopy& copy);

// A copy to x from a tensor without the reduced dimensions, repeated along
// these.
StridedCopy RepeatOver(const Shape& x, const std::vector<bool>& is_reduced,
                       int64_t element_bytes);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_STRIDED_COPY_H_
