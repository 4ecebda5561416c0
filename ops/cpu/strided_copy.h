// Copies an N-dimensional box of elements between two strided layouts: the one
// loop behind Transpose, Slice, Concat, Pad and the gradients of sums.
#ifndef SPILLWAY_OPS_CPU_STRIDED_COPY_H_
#define SPILLWAY_OPS_CPU_STRIDED_COPY_H_

#include <cstdint>
#include <vector>

#include "graph/shape.h"

namespace spillway {

// Strides in elements, outermost dimension first. A from_stride of 0 repeats.
struct StridedCopy {
  std::vector<int64_t> sizes;
  std::vector<int64_t> from_strides;
  std::vector<int64_t> to_strides;
  int64_t element_bytes = 4;  // 1, 2, 4 or 8
};

// [12, 4, 1] of a shape [2, 3, 4].
std::vector<int64_t> RowMajorStrides(const Shape& shape);

// The same copy with dimensions of size 1 dropped and neighbours merged where
// both layouts allow; at least one dimension is left.
StridedCopy Simplify(const StridedCopy& copy);

// `copy` is simplified; `from` and `to` do not overlap.
void CopyStrided(int threads, const StridedCopy& copy, const void* from,
                 void* to);

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_STRIDED_COPY_H_
