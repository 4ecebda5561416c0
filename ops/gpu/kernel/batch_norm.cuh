// Shared by the forward and the backward kernels of batch normalisation.
#ifndef SPILLWAY_OPS_GPU_KERNEL_BATCH_NORM_CUH_
#define SPILLWAY_OPS_GPU_KERNEL_BATCH_NORM_CUH_

#include <cstdint>

#include "ops/gpu/kernel/batch_norm.h"
#include "ops/gpu/thread/channel_chunks.cuh"
#include "ops/gpu/thread/channel_tiles.cuh"
#include "ops/gpu/thread/pack.cuh"
#include "ops/gpu/thread/pack_size.cuh"

namespace spillway::gpu {

// The normalised x before side and activation. A shared function, so that the
// gradient sees exactly the sign that relu saw.
__device__ inline float Normalized(float distance, float factor, float offset) {
  return fmaf(distance, factor, offset);
}

// Where the gradient of the activation passes, by its y as stored.
struct Activation {
  bool is_relu6 = false;  // else relu

  __device__ bool Passes(float y) const {
    return y > 0 && !(is_relu6 && y >= 6);
  }
};

// Channels per thread. A thread keeps several numbers for each; with more
// channels there would be too few registers to load several rows at once.
inline constexpr int kMostChannels = 4;

inline ChannelTiles TilesOf(const BatchNorm& norm) {
  const int size = PackSize(norm.dtype, norm.channels, kMostChannels);
  return MakeChannelTiles(1, norm.rows, norm.channels / size);
}

inline ChannelTiles JoinTiles(const BatchNorm& norm) {
  return JoinTiles(TilesOf(norm).chunks, norm.channels);
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_BATCH_NORM_CUH_
