// Gather: rows of a table. x: [outer..., n, inner...], any dtype; indices: any
// shape, int32 or int64; y: [outer..., indices..., inner...], for the attribute
// `axis` (0) the dimension of n, negative from the end. An index outside [0, n)
// gives zeros (a session refuses fed ones).
//
// GatherGrad: dx of `input_shape` from dy and indices: the sum of all dy of a
// row, in the order of the indices, float32.
#ifndef SPILLWAY_OPS_ARRAY_GATHER_H_
#define SPILLWAY_OPS_ARRAY_GATHER_H_

#include <cstdint>

#include "ops/op.h"

namespace spillway::ops {

struct GatherSizes {
  int64_t outer = 1;
  int64_t n = 1;      // of the table
  int64_t count = 1;  // of indices
  int64_t inner = 1;
};

Op Gather();
Op GatherGrad();

// Of a node that infer has accepted.
GatherSizes GatherSizesOf(const KernelRequest& node);
GatherSizes GatherGradSizesOf(const KernelRequest& node);

NewKernel GatherCpu(const KernelRequest& node);
NewKernel GatherGradCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_ARRAY_GATHER_H_
