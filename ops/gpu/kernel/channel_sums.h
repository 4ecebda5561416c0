// y[o, i] = scale * sum over r of x[o, r, i], on the GPU: sums over rows of
// channels (outer 1), over the elements of rows (inner 1), or over the middle
// one of three dimensions. Many rows are summed in two stages: first chunks of
// rows into the workspace, then the chunks in order.
#ifndef SPILLWAY_OPS_GPU_KERNEL_CHANNEL_SUMS_H_
#define SPILLWAY_OPS_GPU_KERNEL_CHANNEL_SUMS_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

struct ChannelSums {
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
  DType x_dtype = DType::kFloat32;  // each float32 or the same shorter one
  DType y_dtype = DType::kFloat32;
  float scale = 1;
};

struct ChannelSumsTensors {
  const void* x = nullptr;
  void* workspace = nullptr;  // WorkspaceBytes(sums)
  void* y = nullptr;          // overlaps neither x nor workspace
};

// At most a few MiB; 0 if one stage is enough.
int64_t WorkspaceBytes(const ChannelSums& sums);

LaunchError SumChannels(StreamHandle stream, const ChannelSums& sums,
                        const ChannelSumsTensors& tensors);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_CHANNEL_SUMS_H_
