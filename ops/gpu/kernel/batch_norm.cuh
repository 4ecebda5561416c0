// Shared by the forward and the backward kernels of batch normalisation.
#ifndef SPILLWAY_OPS_GPU_KERNEL_BATCH_NORM_CUH_
#define SPILLWAY_OPS_GPU_KERNEL_BATCH_NORM_CUH_

#include <cstdint>

#include "ops/gpu/kernel/batch_norm.h"
#include "ops/gpu/thread/channel_tiles.cuh"
#include "ops/gpu/thread/pack.cuh"
#include "ops/gpu/thread/pack_size.cuh"

namespace spillway::gpu {

// The normalised x before side and activation. A shared function, so that the
// gradient sees exactly the sign that relu saw.
__device__ inline float Normalized(float distance, float factor, float offset) {
  return fmaf(distance, factor, offset);
}

// Channels per thread. A thread keeps several numbers for each; with more
// channels there would be too few registers to load several rows at once.
inline constexpr int kMostChannels = 4;

inline ChannelTiles TilesOf(const BatchNorm& norm) {
  const int size = PackSize(norm.dtype, norm.channels, kMostChannels);
  return MakeChannelTiles(1, norm.rows, norm.channels / size);
}

// The results of chunks of rows, two numbers per channel, as a matrix whose
// rows are the chunks. Tiles are narrow, so that the chunks are split among
// many threads.
inline ChannelTiles JoinTiles(const BatchNorm& norm) {
  return MakeUncutTiles(1, TilesOf(norm).chunks, norm.channels, 4);
}

// The two numbers of a chunk for a channel.
struct ChunkOfChannel {
  float first = 0;
  float second = 0;
};

// Kernels over JoinTiles have few blocks, so registers are plentiful: with this
// value in __launch_bounds__, all loads of a batch are in flight at once.
inline constexpr int kJoinTilesAtOnce = 1;

// Calls use(chunk, numbers) for the thread's chunks of a tile of JoinTiles.
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
