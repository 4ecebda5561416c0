// A group is processed by a warp, or by a block if it is long; it is read again
// from the cache rather than kept. The gradients of scale and offset are sums
// over rows, by chunks, before any group is overwritten by its dx. Workspace:
// for each chunk of rows sum dy [C] and sum dy (x - mean) inv_std [C].
#include "ops/gpu/kernel/group_norm.h"
#include "ops/gpu/thread/channel_chunks.cuh"
#include "ops/gpu/thread/channel_tiles.cuh"
#include "ops/gpu/thread/divide.cuh"
#include "ops/gpu/thread/pack.cuh"
#include "ops/gpu/thread/pack_size.cuh"
#include "ops/gpu/thread/reduce.cuh"

namespace spillway::gpu {
namespace {

constexpr int64_t kMostOfWarp = 1024;  // elements of a group

// A pack of a group: its place in x, and in scale and offset.
struct Place {
  int64_t in_x = 0;
  int64_t in_scale = 0;
};

// The packs of one group; all counts are of packs.
struct GroupPacks {
  int64_t begin = 0;    // in x, of its first row
  int64_t channel = 0;  // the first, in scale
  int64_t stride = 1;   // between rows of x
  int64_t width = 1;
  int64_t count = 1;

  __device__ Place At(int64_t i) const {
    const int64_t row = Divide(i, width);
    const int64_t rest = i - row * width;
    return {.in_x = begin + row * stride + rest, .in_scale = channel + rest};
  }
};

template <int kCount>
__device__ GroupPacks PacksOfGroup(const GroupNorm& norm, int64_t i) {
  const int64_t sample = Divide(i, norm.groups);
  const int64_t group = i - sample * norm.groups;
  GroupPacks packs;
  packs.width = norm.width / kCount;
  packs.stride = norm.groups * packs.width;
  packs.channel = group * packs.width;
  packs.begin = sample * norm.rows * packs.stride + packs.channel;
  packs.count = norm.rows * packs.width;
  return packs;
}

template <typename Group, int kCount, typename T>
__global__ void NormalizeKernel(GroupNorm norm, GroupNormTensors tensors) {
  const auto* x = PacksOf<kCount>(static_cast<const T*>(tensors.x));
  auto* y = PacksOf<kCount>(static_cast<T*>(tensors.y));
  const auto* scale = PacksOf<kCount>(tensors.scale);
  const auto* offset = PacksOf<kCount>(tensors.offset);
  const float share = 1 / static_cast<float>(norm.rows * norm.width);
  ForEachRow<Group>(norm.samples * norm.groups, [&](int64_t i) {
    const GroupPacks group = PacksOfGroup<kCount>(norm, i);
    float sum = 0;
    ForEachOfRow<Group>(group.count, [&](int64_t k) {
      const auto pack = x[group.At(k).in_x];
      for (int j = 0; j < kCount; ++j) sum += Load(pack.items[j]);
    });
    const float mean = share * Group::Reduce(sum, Plus());
    float squares = 0;
    ForEachOfRow<Group>(group.count, [&](int64_t k) {
      const auto pack = x[group.At(k).in_x];
      for (int j = 0; j < kCount; ++j) {
        const float distance = Load(pack.items[j]) - mean;
        squares += distance * distance;
      }
    });
    const float variance = share * Group::Reduce(squares, Plus());
    const float inv_std = 1 / sqrtf(variance + norm.epsilon);
    if (threadIdx.x % Group::kSize == 0) {
      tensors.mean[i] = mean;
      tensors.inv_std[i] = inv_std;
    }
    ForEachOfRow<Group>(group.count, [&](int64_t k) {
      const Place at = group.At(k);
      auto pack = x[at.in_x];
      const auto of_scale = scale[at.in_scale];
      const auto of_offset = offset[at.in_scale];
      for (int j = 0; j < kCount; ++j) {
        const float factor = of_scale.items[j] * inv_std;
        pack.items[j] = Store<T>(
            fmaf(Load(pack.items[j]) - mean, factor, of_offset.items[j]));
      }
      y[at.in_x] = pack;
    });
  });
}

// With d = x - mean, a = mean of scale dy and b = mean of scale dy d:
//   dx = scale inv_std dy - inv_std^3 b d - inv_std a
template <typename Group, int kCount, typename T>
__global__ void GradientOfX(GroupNorm norm, GroupNormGradTensors tensors) {
  const auto* x = PacksOf<kCount>(static_cast<const T*>(tensors.x));
  const auto* dy = PacksOf<kCount>(static_cast<const T*>(tensors.dy));
  auto* dx = PacksOf<kCount>(static_cast<T*>(tensors.dx));
  const auto* scale = PacksOf<kCount>(tensors.scale);
  const float share = 1 / static_cast<float>(norm.rows * norm.width);
  ForEachRow<Group>(norm.samples * norm.groups, [&](int64_t i) {
    const GroupPacks group = PacksOfGroup<kCount>(norm, i);
    const float mean = tensors.mean[i];
    const float inv_std = tensors.inv_std[i];
    float a = 0;
    float b = 0;
    ForEachOfRow<Group>(group.count, [&](int64_t k) {
      const Place at = group.At(k);
      const auto of_x = x[at.in_x];
      const auto of_dy = dy[at.in_x];
      const auto of_scale = scale[at.in_scale];
      for (int j = 0; j < kCount; ++j) {
        const float g = of_scale.items[j] * Load(of_dy.items[j]);
        a += g;
        b += g * (Load(of_x.items[j]) - mean);
      }
    });
    const float shift = inv_std * share * Group::Reduce(a, Plus());
    const float slope =
        inv_std * inv_std * inv_std * share * Group::Reduce(b, Plus());
    ForEachOfRow<Group>(group.count, [&](int64_t k) {
      const Place at = group.At(k);
      const auto of_x = x[at.in_x];
      auto pack = dy[at.in_x];
      const auto of_scale = scale[at.in_scale];
      for (int j = 0; j < kCount; ++j) {
        const float factor = of_scale.items[j] * inv_std;
        const float d = Load(of_x.items[j]) - mean;
        pack.items[j] =
            Store<T>(factor * Load(pack.items[j]) - slope * d - shift);
      }
      dx[at.in_x] = pack;
    });
  });
}

template <int kCount, typename T>
__global__ void __launch_bounds__(kThreads, kTilesAtOnce)
    SumGradients(ChannelTiles tiles, GroupNorm norm,
                 GroupNormGradTensors tensors) {
  struct Loaded {
    Pack<T, kCount> x = {};
    Pack<T, kCount> dy = {};
    float mean = 0;
    float inv_std = 0;
  };
  const auto* x = PacksOf<kCount>(static_cast<const T*>(tensors.x));
  const auto* dy = PacksOf<kCount>(static_cast<const T*>(tensors.dy));
  ForEachTile(tiles, [&](const ChannelTile& tile) {
    const int64_t group = Divide(tile.column * kCount, norm.width);
    const int64_t of_sample = norm.rows * tiles.columns;
    float sum[kCount] = {};
    float product[kCount] = {};
    const auto load = [&](int64_t at) {
      const int64_t i = Divide(at, of_sample) * norm.groups + group;
      Loaded loaded;
      loaded.x = x[at];
      loaded.dy = dy[at];
      loaded.mean = tensors.mean[i];
      loaded.inv_std = tensors.inv_std[i];
      return loaded;
    };
    ForEachPackOf<RowsAtOnce<T, kCount>(2)>(
        tiles, tile, load, [&](int64_t /*at*/, const Loaded& loaded) {
          for (int k = 0; k < kCount; ++k) {
            const float g = Load(loaded.dy.items[k]);
            sum[k] += g;
            product[k] +=
                g * (Load(loaded.x.items[k]) - loaded.mean) * loaded.inv_std;
          }
        });
    BlockReduce(sum, tiles.width, Plus());
    BlockReduce(product, tiles.width, Plus());
    StoreChunk(tiles, tile, sum, product, tensors.workspace);
  });
}

// A tile's rows are the chunks of SumGradients.
__global__ void __launch_bounds__(kThreads, kJoinTilesAtOnce)
    JoinGradients(ChannelTiles tiles, int64_t channels,
                  GroupNormGradTensors tensors) {
  ForEachTile(tiles, [&](const ChannelTile& tile) {
    double sums[2] = {};
    ForEachChunk(tile, channels, tensors.workspace,
                 [&](int64_t /*chunk*/, const ChunkOfChannel& of_chunk) {
                   sums[0] += of_chunk.first;
                   sums[1] += of_chunk.second;
                 });
    BlockReduce(sums, tiles.width, Plus());
    if (tile.leads) {
      tensors.doffset[tile.column] = static_cast<float>(sums[0]);
      tensors.dscale[tile.column] = static_cast<float>(sums[1]);
    }
  });
}

// A thread keeps several numbers for each channel of a pack.
constexpr int kMostChannels = 4;

ChannelTiles TilesOf(const GroupNorm& norm) {
  const int size = PackSize(norm.dtype, norm.width, kMostChannels);
  return MakeChannelTiles(1, norm.samples * norm.rows,
                          norm.groups * norm.width / size);
}

// launch(T(), Count(), Group()): kernels for T, packs of Count::value elements
// and groups shared by Group.
template <typename Fn>
LaunchError ForGroups(const GroupNorm& norm, const Fn& launch) {
  return ForPacks<kMostChannels>(
      norm.dtype, norm.width, [&]<typename T, typename Count>(T, Count) {
        return norm.rows * norm.width <= kMostOfWarp
                   ? launch(T(), Count(), WarpOfRow())
                   : launch(T(), Count(), BlockOfRow());
      });
}

template <typename Group>
dim3 BlocksOf(const GroupNorm& norm) {
  return {BlocksFor(norm.samples * norm.groups * Group::kSize)};
}

}  // namespace

LaunchError NormalizeGroups(StreamHandle stream, const GroupNorm& norm,
                            const GroupNormTensors& tensors) {
  return ForGroups(norm, [&]<typename T, typename C, typename G>(T, C, G) {
    return Launch(stream, NormalizeKernel<G, C::value, T>, BlocksOf<G>(norm),
                  dim3(kThreads), norm, tensors);
  });
}

int64_t GroupNormGradWorkspaceBytes(const GroupNorm& norm) {
  return 2 * TilesOf(norm).chunks * norm.groups * norm.width *
         static_cast<int64_t>(sizeof(float));
}

LaunchError NormalizeGroupsGrad(StreamHandle stream, const GroupNorm& norm,
                                const GroupNormGradTensors& tensors) {
  const ChannelTiles tiles = TilesOf(norm);
  const int64_t channels = norm.groups * norm.width;
  LaunchError error = ForPacks<kMostChannels>(
      norm.dtype, norm.width, [&]<typename T, typename C>(T, C) {
        return Launch(stream, SumGradients<C::value, T>, dim3(tiles.blocks()),
                      dim3(kThreads), tiles, norm, tensors);
      });
  if (error != 0) return error;
  const ChannelTiles join = JoinTiles(tiles.chunks, channels);
  error = Launch(stream, JoinGradients, dim3(join.blocks()), dim3(kThreads),
                 join, channels, tensors);
  if (error != 0) return error;
  return ForGroups(norm, [&]<typename T, typename C, typename G>(T, C, G) {
    return Launch(stream, GradientOfX<G, C::value, T>, BlocksOf<G>(norm),
                  dim3(kThreads), norm, tensors);
  });
}

}  // namespace spillway::gpu
