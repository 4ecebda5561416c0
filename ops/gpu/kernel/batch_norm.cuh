// What the forward and the backward kernels of batch normalisation share.
#ifndef SPILLWAY_OPS_GPU_KERNEL_BATCH_NORM_CUH_
#define SPILLWAY_OPS_GPU_KERNEL_BATCH_NORM_CUH_

#include <cstdint>

#include "ops/gpu/kernel/batch_norm.h"
#include "ops/gpu/thread/channel_tiles.cuh"
#include "ops/gpu/thread/pack.cuh"
#include "ops/gpu/thread/pack_size.cuh"

namespace spillway::gpu {

// The normalised x before side and activation. One function, so that the
// gradient sees exactly the sign that relu saw.
__device__ inline float Normalized(float distance, float factor, float offset) {
  return fmaf(distance, factor, offset);
}

// Channels of a thread. It keeps several numbers for each: with more of them
// there would be no registers left to load several rows at once.
inline constexpr int kMostChannels = 4;

inline ChannelTiles TilesOf(const BatchNorm& norm) {
  const int size = PackSize(norm.dtype, norm.channels, kMostChannels);
  return MakeChannelTiles(1, norm.rows, norm.channels / size);
}

// What chunks of rows leave, two numbers for each channel: the chunks are the
// rows. Tiles are narrow, so that many threads share out the chunks.
inline ChannelTiles JoinTiles(const BatchNorm& norm) {
  return MakeUncutTiles(1, TilesOf(norm).chunks, norm.channels, 4);
}

// What chunk and channel have.
struct ChunkOfChannel {
  float first = 0;
  float second = 0;
};

// Kernels over JoinTiles are few blocks, so that registers are not scarce: with
// this for __launch_bounds__ all of a batch's loads are under way at once.
inline constexpr int kJoinTilesAtOnce = 1;

// use(chunk, numbers) for the thread's chunks of a tile of JoinTiles.
template <typename UseFn>
__device__ void ForEachChunk(const ChannelTile& tile, int64_t channels,
                             const float* chunks, const UseFn& use) {
  ForEachLoaded<8>(
      tile.first, tile.end, tile.step,
      [&](int64_t chunk) -> ChunkOfChannel {
        const float* numbers = chunks + 2 * chunk * channels + tile.column;
        return {numbers[0], numbers[channels]};
      },
      use);
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_BATCH_NORM_CUH_
