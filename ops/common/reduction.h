// Sums over some dimensions of a tensor, as passes over three dimensions each.
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

// Runs of adjacent reduced dimensions, last run first. Each run is one pass
// over the result of the previous passes. NHWC spatial means need one pass;
// empty if nothing is reduced.
std::vector<Reduction> PassesOver(const std::vector<bool>& is_reduced,
                                  const Shape& x);

}  // namespace spillway

#endif  // SPILLWAY_OPS_COMMON_REDUCTION_H_
