// Sums over chunks of rows, for CUDA sources: a first kernel leaves two numbers
// per channel for each chunk, [chunks, 2, channels], and a second joins them in
// order.
#ifndef SPILLWAY_OPS_GPU_THREAD_CHANNEL_CHUNKS_CUH_
#define SPILLWAY_OPS_GPU_THREAD_CHANNEL_CHUNKS_CUH_

#include <cstdint>

#include "ops/gpu/thread/channel_tiles.cuh"
#include "ops/gpu/thread/pack.cuh"

namespace spillway::gpu {

// A matrix whose rows are the chunks. Tiles are narrow, so that the chunks are
// split among many threads.
inline ChannelTiles JoinTiles(int64_t chunks, int64_t channels) {
  return MakeUncutTiles(1, chunks, channels, 4);
}

// Leaves the numbers of a tile's chunk and column, which is kCount channels.
template <int kCount>
__device__ void StoreChunk(const ChannelTiles& tiles, const ChannelTile& tile,
                           const float (&first)[kCount],
                           const float (&second)[kCount], float* chunks) {
  if (!tile.leads) return;
  Pack<float, kCount> of_first;
  Pack<float, kCount> of_second;
  for (int k = 0; k < kCount; ++k) {
    of_first.items[k] = first[k];
    of_second.items[k] = second[k];
  }
  const int64_t at = 2 * tile.chunk * tiles.columns + tile.column;
  PacksOf<kCount>(chunks)[at] = of_first;
  PacksOf<kCount>(chunks)[at + tiles.columns] = of_second;
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

#endif  // SPILLWAY_OPS_GPU_THREAD_CHANNEL_CHUNKS_CUH_
