#include "ops/common/reduction.h"

#include <cstddef>

namespace spillway {

std::vector<Reduction> PassesOver(const std::vector<bool>& is_reduced,
                                  const Shape& x) {
  std::vector<Reduction> passes;
  int64_t inner = 1;
  int axis = x.rank() - 1;
  while (axis >= 0) {
    int64_t reduced = 1;
    for (; axis >= 0 && is_reduced[static_cast<size_t>(axis)]; --axis) {
      reduced *= x.dim(axis);
    }
    if (reduced > 1) passes.push_back({.reduced = reduced, .inner = inner});
    for (; axis >= 0 && !is_reduced[static_cast<size_t>(axis)]; --axis) {
      inner *= x.dim(axis);
    }
  }
  int64_t left = x.num_elements();
  for (Reduction& pass : passes) {
    pass.outer = left / (pass.reduced * pass.inner);
    left /= pass.reduced;
  }
  return passes;
}

}  // namespace spillway
