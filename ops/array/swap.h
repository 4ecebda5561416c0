// SwapOut: a copy of a device tensor in host memory. SwapIn: a copy of a host
// tensor in device memory. Any type; the type stays. LMS inserts them after the
// gradients, so they have none. No kernel: the executor copies on the copy
// lanes.
#ifndef SPILLWAY_OPS_ARRAY_SWAP_H_
#define SPILLWAY_OPS_ARRAY_SWAP_H_

#include "ops/op.h"

namespace spillway::ops {

Op SwapIn();
Op SwapOut();

}  // namespace spillway::ops

#endif  // SPILLWAY_OPS_ARRAY_SWAP_H_
