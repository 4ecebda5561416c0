// AllReduce(x..., weight) -> y...: for each group, the sum over all ranks of a
// run of weight * x, with each rank's own weight and x:
//
//   rank 0   weight 0.75   x1 [4 8]   x2 [1]          y1 [4 7]
//   rank 1   weight 0.25   x1 [4 4]   x2 [5]    ->    y2 [2]    on both
//
// One call of the communicator reduces all tensors of the node (a bucket). All
// float32; weight: a scalar that all groups share. Each y may be written over
// its x. On the CPU, several tensors are packed into scratch of their size,
// which the plan counts.
#ifndef SPILLWAY_OPS_COLLECTIVE_ALL_REDUCE_H_
#define SPILLWAY_OPS_COLLECTIVE_ALL_REDUCE_H_

#include "ops/op.h"

namespace spillway::ops {

Op AllReduce();

NewKernel AllReduceCpu(const KernelRequest& node);

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_COLLECTIVE_ALL_REDUCE_H_
