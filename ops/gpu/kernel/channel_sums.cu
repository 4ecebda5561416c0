#include "ops/gpu/kernel/channel_sums.h"
#include "ops/gpu/thread/channel_tiles.cuh"
#include "ops/gpu/thread/pack.cuh"
#include "ops/gpu/thread/pack_size.cuh"
#include "ops/gpu/thread/reduce.cuh"
#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {
namespace {

// Up to so many rows are summed by one thread; if inner is 1, by one warp.
constexpr int64_t kFewRows = 32;
constexpr int64_t kFewRowsOfWarp = 2048;

// Columns of a tile that joins chunks: narrow, so that the chunks are split
// among many threads.
constexpr unsigned kJoinWidth = 4;

// y[o, i] = scale * sum over r of x[o, r, i]; a column is kCount elements.
template <int kCount, typename X, typename Y>
__global__ void SumFewRows(ChannelSums sums, const X* x, Y* y) {
  const int64_t columns = sums.inner / kCount;
  ForEachItem(sums.outer * columns, [&](int64_t i) {
    const int64_t outer = Divide(i, columns);
    const int64_t begin = outer * (sums.reduced - 1) * columns + i;
    float sum[kCount] = {};
    for (int64_t row = 0; row < sums.reduced; ++row) {
      const auto pack = PacksOf<kCount>(x)[begin + row * columns];
      for (int k = 0; k < kCount; ++k) sum[k] += Load(pack.items[k]);
    }
    Pack<Y, kCount> result;
    for (int k = 0; k < kCount; ++k) {
      result.items[k] = Store<Y>(sums.scale * sum[k]);
    }
    PacksOf<kCount>(y)[i] = result;
  });
}

// y[o] = scale * sum over r of x[o, r], kCount elements at a time.
template <int kCount, typename X, typename Y>
__global__ void SumByWarps(ChannelSums sums, const X* x, Y* y) {
  const int64_t columns = sums.reduced / kCount;
  ForEachRow<WarpOfRow>(sums.outer, [&](int64_t row) {
    float sum = 0;
    for (int64_t i = threadIdx.x % kWarp; i < columns; i += kWarp) {
      const auto pack = PacksOf<kCount>(x)[row * columns + i];
      for (int k = 0; k < kCount; ++k) sum += Load(pack.items[k]);
    }
    sum = WarpOfRow::Reduce(sum, Plus());
    if (threadIdx.x % kWarp == 0) y[row] = Store<Y>(sums.scale * sum);
  });
}

// y[chunk, column] = scale * sum of the chunk's rows. With kFolds, the elements
// of a column are added too: they are a part of the summed row.
template <int kCount, bool kFolds, typename X, typename Y>
__global__ void __launch_bounds__(kThreads, kTilesAtOnce)
    SumChunks(ChannelTiles tiles, float scale, const X* x, Y* y) {
  ForEachTile(tiles, [&](const ChannelTile& tile) {
    float sum[kCount] = {};
    ForEachPackOf<RowsAtOnce<X, kCount>(1)>(
        tiles, tile, [&](int64_t at) { return PacksOf<kCount>(x)[at]; },
        [&](int64_t /*at*/, const Pack<X, kCount>& pack) {
          for (int k = 0; k < kCount; ++k) sum[k] += Load(pack.items[k]);
        });
    const int64_t at = tile.chunk * tiles.columns + tile.column;
    if constexpr (kFolds) {
      for (int k = 1; k < kCount; ++k) sum[0] += sum[k];
      sum[0] = BlockReduce(sum[0], tiles.width, Plus());
      if (tile.leads) y[at] = Store<Y>(scale * sum[0]);
    } else {
      BlockReduce(sum, tiles.width, Plus());
      Pack<Y, kCount> result;
      for (int k = 0; k < kCount; ++k) {
        result.items[k] = Store<Y>(scale * sum[k]);
      }
      if (tile.leads) PacksOf<kCount>(y)[at] = result;
    }
  });
}

// Whether the elements of a row are summed, several at a time.
bool Folds(const ChannelSums& sums) {
  return sums.inner == 1 && PackSize(sums.x_dtype, sums.reduced) > 1;
}

ChannelTiles TilesOf(const ChannelSums& sums, bool cuts_rows,
                     unsigned most_width = kWarp) {
  const int64_t innermost = Folds(sums) ? sums.reduced : sums.inner;
  const int64_t packs = innermost / PackSize(sums.x_dtype, innermost);
  const int64_t rows = Folds(sums) ? packs : sums.reduced;
  const int64_t columns = Folds(sums) ? 1 : packs;
  return cuts_rows ? MakeChannelTiles(sums.outer, rows, columns)
                   : MakeUncutTiles(sums.outer, rows, columns, most_width);
}

bool HasFewRows(const ChannelSums& sums) {
  return sums.reduced <= (sums.inner == 1 ? kFewRowsOfWarp : kFewRows);
}

ChannelTiles FirstStage(const ChannelSums& sums) {
  return TilesOf(sums, !HasFewRows(sums));
}

template <typename X, typename Y>
LaunchError LaunchChunks(StreamHandle stream, const ChannelSums& sums,
                         const ChannelTiles& tiles, const X* x, Y* y) {
  constexpr int kCount = Vector<X>::kSize;
  const auto launch = [&](auto kernel) {
    return Launch(stream, kernel, dim3(tiles.blocks()), dim3(kThreads), tiles,
                  sums.scale, x, y);
  };
  if (Folds(sums)) return launch(SumChunks<kCount, true, X, Y>);
  return PackSize(sums.x_dtype, sums.inner) == 1
             ? launch(SumChunks<1, false, X, Y>)
             : launch(SumChunks<kCount, false, X, Y>);
}

template <typename X, typename Y>
LaunchError LaunchFewRows(StreamHandle stream, const ChannelSums& sums,
                          const X* x, Y* y) {
  const bool by_warps = sums.reduced > kFewRows;
  const int64_t innermost = by_warps ? sums.reduced : sums.inner;
  const auto launch = [&](auto kernel, int64_t threads) {
    return Launch(stream, kernel, dim3(BlocksFor(threads)), dim3(kThreads),
                  sums, x, y);
  };
  return ForPacks(
      sums.x_dtype, innermost, [&]<typename T, typename Count>(T, Count) {
        constexpr int kCount = Count::value;
        return by_warps ? launch(SumByWarps<kCount, X, Y>, sums.outer * kWarp)
                        : launch(SumFewRows<kCount, X, Y>,
                                 sums.outer * sums.inner / kCount);
      });
}

// One stage, with tiles of at most `most_width` columns.
LaunchError SumAtOnce(StreamHandle stream, const ChannelSums& sums,
                      unsigned most_width, const void* from, void* to) {
  return ForTwoStorages(
      sums.x_dtype, sums.y_dtype, [&]<typename X, typename Y>(X, Y) {
        const auto* x = static_cast<const X*>(from);
        auto* y = static_cast<Y*>(to);
        if (HasFewRows(sums)) {
          return LaunchFewRows(stream, sums, x, y);
        }
        return LaunchChunks(stream, sums, TilesOf(sums, false, most_width), x,
                            y);
      });
}

}  // namespace

int64_t WorkspaceBytes(const ChannelSums& sums) {
  const int64_t chunks = FirstStage(sums).chunks;
  if (chunks == 1) return 0;
  return sums.outer * chunks * sums.inner * static_cast<int64_t>(sizeof(float));
}

LaunchError SumChannels(StreamHandle stream, const ChannelSums& sums,
                        const ChannelSumsTensors& tensors) {
  const ChannelTiles tiles = FirstStage(sums);
  if (tiles.chunks == 1) {
    return SumAtOnce(stream, sums, kWarp, tensors.x, tensors.y);
  }
  ChannelSums chunks = sums;
  chunks.scale = 1;
  const LaunchError error = ForStorage(sums.x_dtype, [&]<typename X>(X) {
    return LaunchChunks(stream, chunks, tiles, static_cast<const X*>(tensors.x),
                        static_cast<float*>(tensors.workspace));
  });
  if (error != 0) return error;
  ChannelSums joined = sums;
  joined.x_dtype = DType::kFloat32;
  joined.reduced = tiles.chunks;
  return SumAtOnce(stream, joined, kJoinWidth, tensors.workspace, tensors.y);
}

}  // namespace spillway::gpu
