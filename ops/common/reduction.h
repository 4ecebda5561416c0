// Sums over some dimensions of a tensor as passes of three dimensions each.
#ifndef SPILLWAY_OPS_COMMON_REDUCTION_H_
#define SPILLWAY_OPS_COMMON_REDUCTION_H_

#include <cstdint>
#include <vector>

#include "graph/shape.h"

namespace spillway {

// y[o, i] = sum over r of x[o, r, i].
struct Reduction {
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
};

// Runs of neighbouring reduced dimensions, last run first, each as one pass
// over what the passes before it left. NHWC spatial means are one pass; where
// nothing is reduced, there is none.
std::vector<Reduction> PassesOver(const std::vector<bool>& is_reduced,
                                  const Shape& x);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_REDUCTION_H_
