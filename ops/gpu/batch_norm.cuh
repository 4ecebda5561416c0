// What the forward and the backward kernels of batch normalisation share.
#ifndef SPILLWAY_OPS_GPU_BATCH_NORM_CUH_
#define SPILLWAY_OPS_GPU_BATCH_NORM_CUH_

#include <cstdint>

#include "ops/gpu/batch_norm.h"
#include "ops/gpu/channel_tiles.cuh"
#include "ops/gpu/pack.cuh"
#include "ops/gpu/pack_size.cuh"

namespace spillway::gpu {

// The normalised x before side and activation. One function, so that the
// gradient sees exactly the sign that relu saw.
__device__ inline float Normalized(float distance, float factor, float offset) {
  return fmaf(distance, factor, offset);
}

inline ChannelTiles TilesOf(const BatchNorm& norm) {
  return MakeChannelTiles(1, norm.rows,
                          norm.channels / PackSize(norm.dtype, norm.channels));
}

// What chunks of rows leave, two numbers for each channel: the chunks are the
// rows. Tiles are narrow, so that many threads share out the chunks.
inline ChannelTiles JoinTiles(const BatchNorm& norm) {
  return MakeUncutTiles(1, TilesOf(norm).chunks, norm.channels, 8);
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_BATCH_NORM_CUH_
