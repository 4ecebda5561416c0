// x [outer, rows, columns] cut into tiles, each the work of one block at a
// time, for CUDA sources: a chunk of rows by up to a warp of columns. A column
// is the pack (pack.cuh) that one thread moves.
//
// Threads of a block lie side by side on the columns; where columns are few, a
// warp covers several rows, so that it still reads neighbouring bytes. The cut
// depends on the sizes only, and so do the sums over chunks.
#ifndef SPILLWAY_OPS_GPU_CHANNEL_TILES_CUH_
#define SPILLWAY_OPS_GPU_CHANNEL_TILES_CUH_

#include <algorithm>
#include <cstdint>

#include "ops/gpu/divide.cuh"
#include "ops/gpu/launch.cuh"

namespace spillway::gpu {

struct ChannelTiles {
  int64_t rows = 1;
  int64_t columns = 1;
  unsigned width = 1;  // columns of a tile, a power of two up to kWarp
  int64_t wide = 1;    // tiles that cover the columns
  int64_t chunk_rows = 1;
  int64_t chunks = 1;  // of each outer index
  int64_t count = 1;

  unsigned blocks() const { return BlocksFor(count * kThreads); }
};

// One chunk of all rows for each outer index.
inline ChannelTiles MakeUncutTiles(int64_t outer, int64_t rows, int64_t columns,
                                   unsigned most_width = kWarp) {
  ChannelTiles tiles = {.rows = rows, .columns = columns, .chunk_rows = rows};
  while (tiles.width < most_width && tiles.width < columns) tiles.width *= 2;
  tiles.wide = (columns + tiles.width - 1) / tiles.width;
  tiles.count = outer * tiles.wide;
  return tiles;
}

// As many chunks as keep a GPU busy, but no smaller than is worth a block.
inline ChannelTiles MakeChannelTiles(int64_t outer, int64_t rows,
                                     int64_t columns) {
  constexpr int64_t kTiles = 1024;
  constexpr int64_t kRowsOfThread = 8;
  ChannelTiles tiles = MakeUncutTiles(outer, rows, columns);
  const int64_t wanted = std::max<int64_t>(kTiles / tiles.count, 1);
  tiles.chunk_rows = std::max((rows + wanted - 1) / wanted,
                              kRowsOfThread * (kThreads / tiles.width));
  tiles.chunks = (rows + tiles.chunk_rows - 1) / tiles.chunk_rows;
  tiles.count *= tiles.chunks;
  return tiles;
}

// A thread's part of a tile.
struct ChannelTile {
  int64_t chunk = 0;   // counted through all outer indices
  int64_t column = 0;  // the last one for threads beyond it
  int64_t begin = 0;   // rows of the tile, counted through all outer indices
  int64_t end = 0;
  int64_t first = 0;  // of this thread's rows; it takes every step-th
  int64_t step = 1;
  bool leads = false;  // the one thread that writes the column's result
};

// All threads of a block of kThreads get the same tiles, so that `fn` may
// reach barriers.
template <typename Fn>
__device__ void ForEachTile(const ChannelTiles& tiles, const Fn& fn) {
  const int64_t lane = threadIdx.x / tiles.width;
  for (int64_t i = blockIdx.x; i < tiles.count; i += gridDim.x) {
    ChannelTile tile;
    tile.chunk = Divide(i, tiles.wide);
    const int64_t column =
        (i - tile.chunk * tiles.wide) * tiles.width + threadIdx.x % tiles.width;
    const bool is_inside = column < tiles.columns;
    tile.column = is_inside ? column : tiles.columns - 1;
    const int64_t outer = Divide(tile.chunk, tiles.chunks);
    const int64_t begin =
        (tile.chunk - outer * tiles.chunks) * tiles.chunk_rows;
    const int64_t end = begin + tiles.chunk_rows;
    tile.begin = outer * tiles.rows + begin;
    tile.end = outer * tiles.rows + (end < tiles.rows ? end : tiles.rows);
    tile.first = is_inside ? tile.begin + lane : tile.end;
    tile.step = kThreads / tiles.width;
    tile.leads = is_inside && lane == 0;
    fn(tile);
  }
}

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_CHANNEL_TILES_CUH_
