#include "ops/cpu/conv/winograd_plan.h"

#include <algorithm>

namespace spillway {
namespace {

// Transformed tiles of a block, both factors, or factor and product. One core
// keeps its block in its own cache; all cores share a larger one.
constexpr int64_t kOwnBlockBytes = 1_MiB;
constexpr int64_t kSharedBlockBytes = 8_MiB;

// Each thread works alone, unless there are few tiles, or filters so large that
// every block should have many tiles.
int NumTeams(const WinogradPlan& conv, int threads) {
  constexpr int64_t kTiles = 64;
  return conv.has_small_filter() && conv.tiles.count() >= threads * kTiles
             ? threads
             : 1;
}

// Bytes of the two tensors of pixels, in float32.
int64_t TensorBytes(const WinogradPlan& conv) {
  const auto pixels = [&](int64_t WindowDim::*size) {
    return conv.tiles.batch * (conv.tiles.rows.*size) *
           (conv.tiles.columns.*size);
  };
  return kFloatBytes * (pixels(&WindowDim::input) * conv.in_channels +
                        pixels(&WindowDim::output) * conv.out_channels);
}

// A team's blocks are equal. They fit the cache, and are small beside the
// tensors, unless they would have only a few tiles: the more, the larger the
// filter, which each block reads.
int64_t BlockTiles(const WinogradPlan& conv) {
  constexpr int64_t kPart = 8;
  const int64_t bytes =
      std::min(conv.team_threads == 1 ? kOwnBlockBytes : kSharedBlockBytes,
               TensorBytes(conv) / kPart / conv.teams);
  const int64_t tile_bytes =
      conv.points * (conv.in_channels + conv.out_channels) * kFloatBytes;
  const int64_t least = conv.has_small_filter() ? 24 : 192;
  const int64_t most = std::max(bytes / tile_bytes, least);
  const int64_t tiles = (conv.tiles.count() + conv.teams - 1) / conv.teams;
  const int64_t blocks = (tiles + most - 1) / most;
  return (tiles + blocks - 1) / blocks;
}

}  // namespace

TileBegin BeginOf(const WinogradTiles& tiles, int64_t tile) {
  const int64_t row = tile / tiles.across();
  return {.image = row / tiles.down(),
          .row = row % tiles.down() * tiles.height,
          .column = tile % tiles.across() * tiles.width};
}

WinogradPlan MakeWinogradPlan(const ConvSpec& spec, const Window& window,
                              const WinogradTile& tile, int64_t points) {
  const ConvGeometry& geometry = spec.geometry;
  WinogradPlan conv = {.tiles = {.height = tile.height,
                                 .width = tile.width,
                                 .batch = geometry.batch,
                                 .rows = window[0],
                                 .columns = window[1]},
                       .points = points,
                       .in_channels = geometry.in_channels,
                       .out_channels = geometry.out_channels};
  conv.teams = NumTeams(conv, spec.threads);
  conv.team_threads = spec.threads / conv.teams;
  conv.block_tiles = BlockTiles(conv);
  return conv;
}

}  // namespace spillway
