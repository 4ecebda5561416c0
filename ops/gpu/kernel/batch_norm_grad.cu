// With g = dy where the activation passes it, d = x - mean, and sums over the
// batch:
//   doffset = sum g    dscale = inv_std * sum(g d)    factor = scale * inv_std
//   dx = factor * g - slope * d - shift
// where slope and shift, which are 0 with moving statistics, are the
// contributions of the batch's variance and mean.
//
// Workspace: slope [C], shift [C], then for each chunk of rows sum g [C] and
// sum(g d) [C].
#include "ops/gpu/kernel/batch_norm.cuh"
#include "ops/gpu/kernel/batch_norm.h"
#include "ops/gpu/thread/reduce.cuh"

namespace spillway::gpu {
namespace {

// Where gradients pass: everywhere, or by the activation's y, which is computed
// again from x or read, or by the bits that were saved of it.
enum class Mask { kNone, kFromX, kFromY, kFromBits };

// Whether dside is written: dy where it passes.
constexpr bool WritesSide(Mask mask) {
  return mask == Mask::kFromY || mask == Mask::kFromBits;
}

// The values that a thread needs for its kCount channels.
template <int kCount>
struct Channels {
  Pack<float, kCount> mean;
  Pack<float, kCount> offset;
  float factor[kCount];

  __device__ Channels(const BatchNormGradTensors& tensors, int64_t column)
      : mean(PacksOf<kCount>(tensors.mean)[column]),
        offset(PacksOf<kCount>(tensors.offset)[column]) {
    const auto scale = PacksOf<kCount>(tensors.scale)[column];
    const auto inv_std = PacksOf<kCount>(tensors.inv_std)[column];
    for (int k = 0; k < kCount; ++k) {
      factor[k] = scale.items[k] * inv_std.items[k];
    }
  }

  // (Storing y may round it up to 6.)
  template <typename T>
  __device__ bool Passes(Activation activation, int k, float distance) const {
    const float y = Normalized(distance, factor[k], offset.items[k]);
    return activation.Passes(Load(Store<T>(y)));
  }
};

// The values of one row.
template <typename T, int kCount>
struct Loaded {
  Pack<T, kCount> x = {};
  Pack<T, kCount> dy = {};
  Pack<T, kCount> y = {};  // only with Mask::kFromY
  unsigned bits = 0;       // only with Mask::kFromBits
};

template <int kCount, Mask kMask, typename T>
__global__ void __launch_bounds__(kThreads, kTilesAtOnce)
    SumGradients(ChannelTiles tiles, Activation activation,
                 BatchNormGradTensors tensors, float* chunks) {
  ForEachTile(tiles, [&](const ChannelTile& tile) {
    const Channels<kCount> channels(tensors, tile.column);
    float sum_g[kCount] = {};
    float sum_gd[kCount] = {};
    const auto load = [&](int64_t at) {
      Loaded<T, kCount> loaded;
      loaded.x = PacksOf<kCount>(static_cast<const T*>(tensors.x))[at];
      loaded.dy = PacksOf<kCount>(static_cast<const T*>(tensors.dy))[at];
      if constexpr (kMask == Mask::kFromY) {
        loaded.y = PacksOf<kCount>(static_cast<const T*>(tensors.y))[at];
      }
      if constexpr (kMask == Mask::kFromBits) {  // kCount divides 8
        const int64_t element = at * kCount;
        loaded.bits = tensors.mask[element / 8] >> element % 8;
      }
      return loaded;
    };
    constexpr int kBatch = RowsAtOnce<T, kCount>(2);
    ForEachPackOf<kBatch>(
        tiles, tile, load, [&](int64_t at, Loaded<T, kCount> loaded) {
          for (int k = 0; k < kCount; ++k) {
            const float d = Load(loaded.x.items[k]) - channels.mean.items[k];
            float g = Load(loaded.dy.items[k]);
            if constexpr (kMask == Mask::kFromX) {
              g = channels.template Passes<T>(activation, k, d) ? g : 0;
            }
            if constexpr (kMask == Mask::kFromY) {
              g = activation.Passes(Load(loaded.y.items[k])) ? g : 0;
            }
            if constexpr (kMask == Mask::kFromBits) {
              g = (loaded.bits >> k & 1) != 0 ? g : 0;
            }
            if constexpr (WritesSide(kMask)) loaded.dy.items[k] = Store<T>(g);
            sum_g[k] += g;
            sum_gd[k] += g * d;
          }
          if constexpr (WritesSide(kMask)) {
            PacksOf<kCount>(static_cast<T*>(tensors.dside))[at] = loaded.dy;
          }
        });
    BlockReduce(sum_g, tiles.width, Plus());
    BlockReduce(sum_gd, tiles.width, Plus());
    StoreChunk(tiles, tile, sum_g, sum_gd, chunks);
  });
}

// A tile's rows are the chunks of SumGradients.
__global__ void __launch_bounds__(kThreads, kJoinTilesAtOnce)
    JoinSums(ChannelTiles tiles, BatchNorm norm, BatchNormGradTensors tensors,
             const float* chunks) {
  ForEachTile(tiles, [&](const ChannelTile& tile) {
    const int64_t c = tile.column;
    double sums[2] = {};  // of g, and of g d
    ForEachChunk(tile, norm.channels, chunks,
                 [&](int64_t /*chunk*/, const ChunkOfChannel& of_chunk) {
                   sums[0] += of_chunk.first;
                   sums[1] += of_chunk.second;
                 });
    BlockReduce(sums, tiles.width, Plus());
    if (tile.leads) {
      const double sum_g = sums[0];
      const double sum_gd = sums[1];
      const double inv_std = tensors.inv_std[c];
      const double share = norm.is_training ? tensors.scale[c] * inv_std /
                                                  static_cast<double>(norm.rows)
                                            : 0;
      tensors.doffset[c] = static_cast<float>(sum_g);
      tensors.dscale[c] = static_cast<float>(inv_std * sum_gd);
      tensors.workspace[c] =
          static_cast<float>(share * inv_std * inv_std * sum_gd);
      tensors.workspace[norm.channels + c] = static_cast<float>(share * sum_g);
    }
  });
}

// `dys`: dside, already masked, if it is written.
template <int kCount, bool kMaskFromX, typename T>
__global__ void __launch_bounds__(kThreads, kTilesAtOnce)
    GradientOfX(ChannelTiles tiles, Activation activation,
                BatchNormGradTensors tensors, const T* dys) {
  ForEachTile(tiles, [&](const ChannelTile& tile) {
    const Channels<kCount> channels(tensors, tile.column);
    const auto slope = PacksOf<kCount>(tensors.workspace)[tile.column];
    const auto shift =
        PacksOf<kCount>(tensors.workspace)[tiles.columns + tile.column];
    const auto load = [&](int64_t at) {
      Loaded<T, kCount> loaded;
      loaded.x = PacksOf<kCount>(static_cast<const T*>(tensors.x))[at];
      loaded.dy = PacksOf<kCount>(dys)[at];
      return loaded;
    };
    constexpr int kBatch = RowsAtOnce<T, kCount>(2);
    ForEachPackBackwards<kBatch>(
        tiles, tile, load, [&](int64_t at, Loaded<T, kCount> loaded) {
          for (int k = 0; k < kCount; ++k) {
            const float d = Load(loaded.x.items[k]) - channels.mean.items[k];
            float g = Load(loaded.dy.items[k]);
            if constexpr (kMaskFromX) {
              g = channels.template Passes<T>(activation, k, d) ? g : 0;
            }
            loaded.x.items[k] = Store<T>(channels.factor[k] * g -
                                         slope.items[k] * d - shift.items[k]);
          }
          PacksOf<kCount>(static_cast<T*>(tensors.dx))[at] = loaded.x;
        });
  });
}

Mask MaskOf(const BatchNorm& norm, const BatchNormGradTensors& tensors) {
  if (tensors.mask != nullptr) return Mask::kFromBits;
  if (tensors.y != nullptr) return Mask::kFromY;
  return norm.activation == FusedActivation::kNone ? Mask::kNone : Mask::kFromX;
}

// The two passes over x.
template <int kCount, typename T>
struct Passes {
  StreamHandle stream = nullptr;
  ChannelTiles tiles = {};
  Activation activation = {};
  BatchNormGradTensors tensors = {};

  template <typename Fn, typename Argument>
  LaunchError Run(Fn kernel, Argument argument) const {
    return Launch(stream, kernel, dim3(tiles.blocks()), dim3(kThreads), tiles,
                  activation, tensors, argument);
  }

  LaunchError Sum(Mask mask, float* chunks) const {
    switch (mask) {
      case Mask::kNone:
        return Run(SumGradients<kCount, Mask::kNone, T>, chunks);
      case Mask::kFromX:
        return Run(SumGradients<kCount, Mask::kFromX, T>, chunks);
      case Mask::kFromY:
        return Run(SumGradients<kCount, Mask::kFromY, T>, chunks);
      case Mask::kFromBits:
        return Run(SumGradients<kCount, Mask::kFromBits, T>, chunks);
    }
    return 0;
  }

  LaunchError Write(Mask mask) const {
    const auto* dy =
        static_cast<const T*>(WritesSide(mask) ? tensors.dside : tensors.dy);
    return mask == Mask::kFromX ? Run(GradientOfX<kCount, true, T>, dy)
                                : Run(GradientOfX<kCount, false, T>, dy);
  }
};

}  // namespace

LaunchError NormalizeGrad(StreamHandle stream, const BatchNorm& norm,
                          const BatchNormGradTensors& tensors) {
  const Mask mask = MaskOf(norm, tensors);
  const ChannelTiles join = JoinTiles(norm);
  float* chunks = tensors.workspace + 2 * norm.channels;
  return ForPacks<kMostChannels>(
      norm.dtype, norm.channels, [&]<typename T, typename Count>(T, Count) {
        const Passes<Count::value, T> passes = {
            .stream = stream,
            .tiles = TilesOf(norm),
            .activation = {norm.activation == FusedActivation::kRelu6},
            .tensors = tensors};
        LaunchError error = passes.Sum(mask, chunks);
        if (error != 0) return error;
        error = Launch(stream, JoinSums, dim3(join.blocks()), dim3(kThreads),
                       join, norm, tensors, static_cast<const float*>(chunks));
        return error != 0 ? error : passes.Write(mask);
      });
}

}  // namespace spillway::gpu
