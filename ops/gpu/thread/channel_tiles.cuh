// x [outer, rows, columns] split into tiles for CUDA sources; a block processes
// one tile at a time: a chunk of rows by up to a warp of columns. A column is
// the pack (pack.cuh) that one thread moves.
//
// The threads of a block lie side by side along the columns. If there are few
// columns, a warp covers several rows, so that it still reads adjacent bytes.
// The split depends on the sizes only, and so do the sums over chunks.
#ifndef SPILLWAY_OPS_GPU_THREAD_CHANNEL_TILES_CUH_
#define SPILLWAY_OPS_GPU_THREAD_CHANNEL_TILES_CUH_

#include <algorithm>
#include <cstdint>

#include "ops/gpu/thread/divide.cuh"
#include "ops/gpu/thread/launch.cuh"

namespace spillway::gpu {

inline constexpr int kMostRowsAtOnce = 8;

// Rows of so many tensors that a thread loads before it uses the first, a power
// of two: 64 bytes per thread are in flight.
template <typename T, int kCount>
constexpr int RowsAtOnce(int tensors) {
  const int rows = 64 / (tensors * kCount * static_cast<int>(sizeof(T)));
  return rows < kMostRowsAtOnce ? rows : kMostRowsAtOnce;
}

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

// The number of registers per thread is limited so that this many blocks fit on
// a multiprocessor (__launch_bounds__).
inline constexpr int kTilesAtOnce = 4;

// As many chunks as a large GPU runs at once, so that no chunk runs alone at
// the end. But each thread has at least one batch of rows, and above that a
// multiple of half a batch.
inline ChannelTiles MakeChannelTiles(int64_t outer, int64_t rows,
                                     int64_t columns) {
  constexpr int64_t kTiles = 132 * kTilesAtOnce;
  ChannelTiles tiles = MakeUncutTiles(outer, rows, columns);
  const int64_t wanted = std::max<int64_t>(kTiles / tiles.count, 1);
  const int64_t half = kMostRowsAtOnce / 2 * (kThreads / tiles.width);
  const int64_t halves = (rows + wanted * half - 1) / (wanted * half);
  tiles.chunk_rows = std::max<int64_t>(halves, 2) * half;
  tiles.chunks = (rows + tiles.chunk_rows - 1) / tiles.chunk_rows;
  tiles.count *= tiles.chunks;
  return tiles;
}

// A thread's part of a tile.
struct ChannelTile {
  int64_t chunk = 0;   // counted over all outer indices
  int64_t column = 0;  // clamped to the last one
  int64_t begin = 0;   // rows of the tile, counted over all outer indices
  int64_t end = 0;
  int64_t first = 0;  // of this thread's rows; it takes every step-th
  int64_t step = 1;
  bool leads = false;  // the one thread that writes the column's result
};

// Calls use(at, load(at)) for the thread's packs of x, counted from its
// beginning; see ForEachLoaded.
template <int kBatch, typename LoadFn, typename UseFn>
__device__ void ForEachPackOf(const ChannelTiles& tiles,
                              const ChannelTile& tile, const LoadFn& load,
                              const UseFn& use) {
  ForEachLoaded<kBatch>(tile.first * tiles.columns + tile.column,
                        tile.end * tiles.columns, tile.step * tiles.columns,
                        load, use);
}

// The same, but the tile's last rows first: after a kernel that read them last
// they are still in the cache.
template <int kBatch, typename LoadFn, typename UseFn>
__device__ void ForEachPackBackwards(const ChannelTiles& tiles,
                                     const ChannelTile& tile,
                                     const LoadFn& load, const UseFn& use) {
  const int64_t mirror =
      (tile.begin + tile.end - 1) * tiles.columns + 2 * tile.column;
  ForEachPackOf<kBatch>(
      tiles, tile, [&](int64_t at) { return load(mirror - at); },
      [&](int64_t at, const auto& loaded) { use(mirror - at, loaded); });
}

// All threads of a block of kThreads get the same tiles, so `fn` may contain
// barriers.
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

#endif  // SPILLWAY_OPS_GPU_THREAD_CHANNEL_TILES_CUH_
