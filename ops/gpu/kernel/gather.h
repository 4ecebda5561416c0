// Rows of a table on the GPU, by the rules of ops/array/gather.h.
#ifndef SPILLWAY_OPS_GPU_KERNEL_GATHER_H_
#define SPILLWAY_OPS_GPU_KERNEL_GATHER_H_

#include <cstdint>

#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

// x: [outer, n, inner]; indices: [count], of int64 or int32.
struct GatherRows {
  int64_t outer = 1;
  int64_t n = 1;
  int64_t count = 1;
  int64_t inner = 1;
  bool has_long_indices = false;
};

// y: [outer, count, inner], elements of 1, 2, 4 or 8 bytes.
LaunchError RunGather(StreamHandle stream, const GatherRows& rows,
                      int64_t element_bytes, const void* x, const void* indices,
                      void* y);

// dx, as x, from dy, as y: float32.
LaunchError RunGatherGrad(StreamHandle stream, const GatherRows& rows,
                          const void* dy, const void* indices, void* dx);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_GATHER_H_
