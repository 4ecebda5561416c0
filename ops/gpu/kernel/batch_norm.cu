// Workspace: for each chunk of rows its mean [C] and its sum of squared
// distances from that mean [C].
#include "ops/gpu/kernel/batch_norm.cuh"
#include "ops/gpu/kernel/batch_norm.h"
#include "ops/gpu/thread/reduce.cuh"

namespace spillway::gpu {
namespace {

// Distances are summed from the chunk's first row, and then moved to its mean:
// if the mean is far from zero, sums of x^2 would lose the variance.
template <int kCount, typename T>
__global__ void __launch_bounds__(kThreads, kTilesAtOnce)
    ChunkMoments(ChannelTiles tiles, const T* x, float* chunks) {
  ForEachTile(tiles, [&](const ChannelTile& tile) {
    const auto load = [&](int64_t at) { return PacksOf<kCount>(x)[at]; };
    const auto shift = load(tile.begin * tiles.columns + tile.column);
    float sum[kCount] = {};
    float squares[kCount] = {};
    ForEachPackOf<RowsAtOnce<T, kCount>(1)>(
        tiles, tile, load, [&](int64_t /*at*/, const Pack<T, kCount>& pack) {
          for (int k = 0; k < kCount; ++k) {
            const float distance = Load(pack.items[k]) - Load(shift.items[k]);
            sum[k] += distance;
            squares[k] += distance * distance;
          }
        });
    BlockReduce(sum, tiles.width, Plus());
    BlockReduce(squares, tiles.width, Plus());
    const float share = 1 / static_cast<float>(tile.end - tile.begin);
    float mean[kCount];
    float deviation[kCount];
    for (int k = 0; k < kCount; ++k) {
      mean[k] = Load(shift.items[k]) + sum[k] * share;
      deviation[k] = fmaxf(squares[k] - sum[k] * sum[k] * share, 0);
    }
    StoreChunk(tiles, tile, mean, deviation, chunks);
  });
}

// One channel's statistics.
struct Statistics {
  float* mean = nullptr;
  float* inv_std = nullptr;
  float* moving_mean = nullptr;
  float* moving_variance = nullptr;

  __device__ void Set(int64_t c, double of_mean, double variance,
                      double epsilon) const {
    mean[c] = static_cast<float>(of_mean);
    inv_std[c] = static_cast<float>(1 / sqrt(variance + epsilon));
  }
};

__device__ void Update(float& moving, double batch, double momentum) {
  moving = static_cast<float>(momentum * moving + (1 - momentum) * batch);
}

// A tile's rows are the chunks of ChunkMoments, each of `chunk_rows` rows
// except the last. Distances are from the first chunk's mean, so one pass in
// double is enough.
// Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for
// computing sample variances", 1979.
__global__ void __launch_bounds__(kThreads, kJoinTilesAtOnce)
    JoinMoments(ChannelTiles tiles, BatchNorm norm, int64_t chunk_rows,
                const float* chunks, Statistics statistics) {
  const auto n = static_cast<double>(norm.rows);
  const auto rows_of = [&](int64_t chunk) {
    const int64_t left = norm.rows - chunk * chunk_rows;
    return static_cast<double>(left < chunk_rows ? left : chunk_rows);
  };
  ForEachTile(tiles, [&](const ChannelTile& tile) {
    const double shift = chunks[tile.column];
    double sums[2] = {};  // of distances from it, and of their squares
    ForEachChunk(tile, norm.channels, chunks,
                 [&](int64_t i, const ChunkOfChannel& chunk) {
                   const double distance = chunk.first - shift;
                   const double sum = rows_of(i) * distance;
                   sums[0] += sum;
                   sums[1] += chunk.second + sum * distance;
                 });
    BlockReduce(sums, tiles.width, Plus());
    if (tile.leads) {
      const double mean = shift + sums[0] / n;
      const double rest = sums[1] - sums[0] * sums[0] / n;
      const double deviation = rest < 0 ? 0 : rest;  // a NaN stays NaN
      const int64_t c = tile.column;
      statistics.Set(c, mean, deviation / n, norm.epsilon);
      Update(statistics.moving_mean[c], mean, norm.momentum);
      Update(statistics.moving_variance[c],
             deviation / (norm.rows > 1 ? n - 1 : 1), norm.momentum);
    }
  });
}

__global__ void UseMovingStatistics(BatchNorm norm, Statistics statistics) {
  ForEachItem(norm.channels, [&](int64_t c) {
    statistics.Set(c, statistics.moving_mean[c], statistics.moving_variance[c],
                   norm.epsilon);
  });
}

// A NaN passes through activations. With kSavesMask, kCount is 8: a thread
// writes whole bytes.
template <int kCount, bool kHasSide, bool kSavesMask, typename T>
__global__ void __launch_bounds__(kThreads, kTilesAtOnce)
    NormalizeTiles(ChannelTiles tiles, FusedActivation activation,
                   ApplyNormTensors tensors) {
  struct Loaded {
    Pack<T, kCount> x = {};
    Pack<T, kCount> side = {};
  };
  const bool has_activation = activation != FusedActivation::kNone;
  const bool is_relu6 = activation == FusedActivation::kRelu6;
  ForEachTile(tiles, [&](const ChannelTile& tile) {
    const auto mean = PacksOf<kCount>(tensors.mean)[tile.column];
    const auto scale = PacksOf<kCount>(tensors.scale)[tile.column];
    const auto inv_std = PacksOf<kCount>(tensors.inv_std)[tile.column];
    const auto offset = PacksOf<kCount>(tensors.offset)[tile.column];
    float factor[kCount];
    for (int k = 0; k < kCount; ++k) {
      factor[k] = scale.items[k] * inv_std.items[k];
    }
    const auto load = [&](int64_t at) {
      Loaded loaded;
      loaded.x = PacksOf<kCount>(static_cast<const T*>(tensors.x))[at];
      if constexpr (kHasSide) {
        loaded.side = PacksOf<kCount>(static_cast<const T*>(tensors.side))[at];
      }
      return loaded;
    };
    constexpr int kBatch = RowsAtOnce<T, kCount>(kHasSide ? 2 : 1);
    ForEachPackBackwards<kBatch>(
        tiles, tile, load, [&](int64_t at, const Loaded& loaded) {
          Pack<T, kCount> result;
          for (int k = 0; k < kCount; ++k) {
            float y = Normalized(Load(loaded.x.items[k]) - mean.items[k],
                                 factor[k], offset.items[k]);
            if constexpr (kHasSide) y += Load(loaded.side.items[k]);
            if (has_activation && y < 0) y = 0;
            if (is_relu6 && y > 6) y = 6;
            result.items[k] = Store<T>(y);
          }
          PacksOf<kCount>(static_cast<T*>(tensors.y))[at] = result;
          if constexpr (kSavesMask) {
            unsigned bits = 0;
            for (int k = 0; k < kCount; ++k) {
              const bool passes =
                  Activation{is_relu6}.Passes(Load(result.items[k]));
              bits |= static_cast<unsigned>(passes) << k;
            }
            tensors.mask[at] = static_cast<uint8_t>(bits);
          }
        });
  });
}

Statistics StatisticsOf(const BatchNormTensors& tensors) {
  return {.mean = tensors.mean,
          .inv_std = tensors.inv_std,
          .moving_mean = tensors.moving_mean,
          .moving_variance = tensors.moving_variance};
}

LaunchError UseBatchStatistics(StreamHandle stream, const BatchNorm& norm,
                               const BatchNormTensors& tensors) {
  const ChannelTiles tiles = TilesOf(norm);
  const ChannelTiles join = JoinTiles(norm);
  float* chunks = tensors.workspace;
  const LaunchError error = ForPacks<kMostChannels>(
      norm.dtype, norm.channels, [&]<typename T, typename Count>(T, Count) {
        return Launch(stream, ChunkMoments<Count::value, T>,
                      dim3(tiles.blocks()), dim3(kThreads), tiles,
                      static_cast<const T*>(tensors.x), chunks);
      });
  if (error != 0) return error;
  return Launch(stream, JoinMoments, dim3(join.blocks()), dim3(kThreads), join,
                norm, tiles.chunk_rows, static_cast<const float*>(chunks),
                StatisticsOf(tensors));
}

}  // namespace

int64_t BatchNormWorkspaceBytes(const BatchNorm& norm) {
  return (2 + 2 * TilesOf(norm).chunks) * norm.channels *
         static_cast<int64_t>(sizeof(float));
}

LaunchError Normalize(StreamHandle stream, const BatchNorm& norm,
                      const BatchNormTensors& tensors) {
  const LaunchError error =
      norm.is_training
          ? UseBatchStatistics(stream, norm, tensors)
          : Launch(stream, UseMovingStatistics, dim3(BlocksFor(norm.channels)),
                   dim3(kThreads), norm, StatisticsOf(tensors));
  if (error != 0) return error;
  return ApplyNorm(stream, norm,
                   {.x = tensors.x,
                    .scale = tensors.scale,
                    .offset = tensors.offset,
                    .mean = tensors.mean,
                    .inv_std = tensors.inv_std,
                    .side = tensors.side,
                    .y = tensors.y,
                    .mask = tensors.mask});
}

LaunchError ApplyNorm(StreamHandle stream, const BatchNorm& norm,
                      const ApplyNormTensors& tensors) {
  const auto launch = [&](auto kernel, const ChannelTiles& tiles) {
    return Launch(stream, kernel, dim3(tiles.blocks()), dim3(kThreads), tiles,
                  norm.activation, tensors);
  };
  if (tensors.mask != nullptr) {
    return ForStorage(norm.dtype, [&]<typename T>(T) {
      return launch(NormalizeTiles<8, true, true, T>,
                    MakeChannelTiles(1, norm.rows, norm.channels / 8));
    });
  }
  return ForPacks<kMostChannels>(
      norm.dtype, norm.channels, [&]<typename T, typename Count>(T, Count) {
        constexpr int kCount = Count::value;
        return tensors.side != nullptr
                   ? launch(NormalizeTiles<kCount, true, false, T>,
                            TilesOf(norm))
                   : launch(NormalizeTiles<kCount, false, false, T>,
                            TilesOf(norm));
      });
}

}  // namespace spillway::gpu
