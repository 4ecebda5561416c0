// SwapOut, CopyToHost: a copy of a device tensor in host memory. SwapIn,
// CopyToDevice: a copy of a host tensor in device memory. Any type; y has the
// type of x. LMS inserts the swaps, and placement on the host the others, after
// the gradients were added, so they have no gradient. No kernel: the executor
// copies on the copy lanes.
#ifndef SPILLWAY_OPS_ARRAY_SWAP_H_
#define SPILLWAY_OPS_ARRAY_SWAP_H_

#include "ops/op.h"

namespace spillway::ops {

Op SwapIn();
Op SwapOut();
Op CopyToHost();
Op CopyToDevice();

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_ARRAY_SWAP_H_
