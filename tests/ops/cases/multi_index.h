// Multi-dimensional indices for naive references: slow and obvious.
#ifndef SPILLWAY_TESTS_OPS_CASES_MULTI_INDEX_H_
#define SPILLWAY_TESTS_OPS_CASES_MULTI_INDEX_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "graph/shape.h"
#include "tests/ops/cases/op_case.h"

namespace spillway::testing {

using Index = std::vector<int64_t>;

// The offset of `index` in a row-major tensor.
inline size_t Flat(const Shape& shape, const Index& index) {
  int64_t flat = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    flat = flat * shape.dim(axis) + index[static_cast<size_t>(axis)];
  }
  return static_cast<size_t>(flat);
}

// Where an operand that is repeated has what element `index` of the result
// needs.
inline size_t RepeatedAt(const Shape& shape, const Index& index) {
  Index own(index.end() - shape.rank(), index.end());
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) == 1) own[static_cast<size_t>(i)] = 0;
  }
  return Flat(shape, own);
}

// All indices of a tensor, in row-major order.
inline std::vector<Index> AllIndices(const Shape& shape) {
  std::vector<Index> all = {{}};
  for (const int64_t dim : shape.dims()) {
    std::vector<Index> longer;
    for (const Index& prefix : all) {
      for (int64_t i = 0; i < dim; ++i) {
        longer.push_back(prefix);
        longer.back().push_back(i);
      }
    }
    all = std::move(longer);
  }
  return all;
}

// y[index] = f(index)
inline Doubles FromIndices(const Shape& shape,
                           const std::function<double(const Index&)>& f) {
  Doubles y;
  for (const Index& index : AllIndices(shape)) y.push_back(f(index));
  return y;
}

}  // namespace spillway::testing

#endif  // SPILLWAY_TESTS_OPS_CASES_MULTI_INDEX_H_
