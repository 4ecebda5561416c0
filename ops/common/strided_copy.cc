#include "ops/common/strided_copy.h"

#include <cstddef>

namespace spillway {

std::vector<int64_t> RowMajorStrides(const Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis) {
    strides[static_cast<size_t>(axis)] =
        strides[static_cast<size_t>(axis) + 1] * shape.dim(axis + 1);
  }
  return strides;
}

StridedCopy Simplify(const StridedCopy& copy) {
  StridedCopy simple = {.sizes = {1},
                        .from_strides = {1},
                        .to_strides = {1},
                        .element_bytes = copy.element_bytes,
                        .from_start = copy.from_start,
                        .to_start = copy.to_start};
  for (size_t axis = 0; axis < copy.sizes.size(); ++axis) {
    const int64_t size = copy.sizes[axis];
    const int64_t from = copy.from_strides[axis];
    const int64_t to = copy.to_strides[axis];
    if (size == 1) continue;
    if (simple.sizes.back() == 1) {  // only the placeholder so far
      simple.sizes.back() = size;
    } else if (simple.from_strides.back() == size * from &&
               simple.to_strides.back() == size * to) {
      simple.sizes.back() *= size;
    } else {
      simple.sizes.push_back(size);
      simple.from_strides.push_back(0);
      simple.to_strides.push_back(0);
    }
    simple.from_strides.back() = from;
    simple.to_strides.back() = to;
  }
  return simple;
}

StridedCopy RepeatOver(const Shape& x, const std::vector<bool>& is_reduced,
                       int64_t element_bytes) {
  StridedCopy repeat = {.sizes = x.dims(),
                        .from_strides = RowMajorStrides(x),
                        .to_strides = RowMajorStrides(x),
                        .element_bytes = element_bytes};
  int64_t stride = 1;
  for (size_t axis = is_reduced.size(); axis-- > 0;) {
    repeat.from_strides[axis] = is_reduced[axis] ? 0 : stride;
    if (!is_reduced[axis]) stride *= repeat.sizes[axis];
  }
  return repeat;
}

}  // namespace spillway
