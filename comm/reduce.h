// Element-wise reduction of arrays on the host.
#ifndef SPILLWAY_COMM_REDUCE_H_
#define SPILLWAY_COMM_REDUCE_H_

#include <cstdint>

#include "comm/communicator.h"
#include "graph/dtype.h"

namespace spillway {

// to[i] <- to[i] op from[i]. The arrays are the same or do not overlap.
// bfloat16 and float16 are added in float32 and rounded; for kMax and kMin, a
// NaN of either stays one, and +0 is above -0. Integers wrap around. Requires:
// dtype is not bool.
void ReduceInto(void* to, const void* from, int64_t count, DType dtype,
                ReduceOp op);

}  // namespace spillway

#endif  // SPILLWAY_COMM_REDUCE_H_
