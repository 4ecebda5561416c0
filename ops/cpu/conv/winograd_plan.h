// How Winograd's algorithm divides a convolution: into tiles of pixels, blocks
// of tiles, and teams of threads.
#ifndef SPILLWAY_OPS_CPU_CONV_WINOGRAD_PLAN_H_
#define SPILLWAY_OPS_CPU_CONV_WINOGRAD_PLAN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "ops/common/window.h"
#include "ops/cpu/conv/conv_kernel.h"
#include "ops/cpu/conv/winograd.h"
#include "ops/cpu/parallel.h"

namespace spillway {

inline constexpr int64_t kFloatBytes = sizeof(float);
inline constexpr int64_t kWinogradAlignment = 64;  // floats

// Activations [batch, rows, columns, channels] of one tensor.
template <typename T>
struct PixelMap {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t channels = 0;

  // The channels of a pixel; null outside the map.
  T* at(int64_t image, int64_t row, int64_t column) const {
    const bool is_inside =
        row >= 0 && row < rows && column >= 0 && column < columns;
    return is_inside
               ? data + ((image * rows + row) * columns + column) * channels
               : nullptr;
  }
};

// The tiles that cover a convolution's output, image by image.
struct WinogradTiles {
  int64_t height = 2;  // in pixels
  int64_t width = 2;
  int64_t batch = 1;
  WindowDim rows = {};
  WindowDim columns = {};

  int64_t down() const { return (rows.output + height - 1) / height; }
  int64_t across() const { return (columns.output + width - 1) / width; }
  int64_t count() const { return batch * down() * across(); }

  template <typename T>
  PixelMap<T> input(T* data, int64_t channels) const {
    return {data, rows.input, columns.input, channels};
  }
  template <typename T>
  PixelMap<T> output(T* data, int64_t channels) const {
    return {data, rows.output, columns.output, channels};
  }
};

// The first pixel of a tile in the output.
struct TileBegin {
  int64_t image = 0;
  int64_t row = 0;
  int64_t column = 0;
};

TileBegin BeginOf(const WinogradTiles& tiles, int64_t tile);

// Some consecutive tiles.
struct TileBlock {
  int64_t first = 0;
  int64_t count = 0;
};

// Calls fn(i) for each i in [0, n), on several threads.
template <typename Fn>
void ForEachOnThreads(int threads, int64_t n, const Fn& fn) {
  ParallelFor(threads, n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) fn(i);
  });
}

// Numbers that all kernels share. Teams of threads work beside each other, each
// on its own blocks.
struct WinogradPlan {
  WinogradTiles tiles = {};
  int64_t points = 1;        // of a tile and of a filter
  int64_t in_channels = 1;   // of the stored filter
  int64_t out_channels = 1;  // of the stored filter
  int64_t block_tiles = 1;
  int teams = 1;
  int team_threads = 1;

  int threads() const { return teams * team_threads; }
  int64_t filter_floats() const {
    return Aligned(points * out_channels * in_channels);
  }
  // It leaves room for a block in a core's own cache.
  bool has_small_filter() const {
    return filter_floats() * kFloatBytes <= 1_MiB;
  }
  // One block, transformed, of this many channels.
  int64_t block_floats(int64_t channels) const {
    return Aligned(points * block_tiles * channels);
  }
  // Both tensors' blocks.
  int64_t blocks_floats() const {
    return block_floats(in_channels) + block_floats(out_channels);
  }

  // Calls fn(team, block) for every block, with a team's blocks in order.
  template <typename Fn>
  absl::Status ForEachBlock(const Fn& fn) const {
    std::vector<absl::Status> done(static_cast<size_t>(teams));
    ForEachOnThreads(teams, teams, [&](int64_t team) {
      done[static_cast<size_t>(team)] = ForEachBlockOf(team, fn);
    });
    for (absl::Status& status : done) {
      SPILLWAY_RETURN_IF_ERROR(std::move(status));
    }
    return absl::OkStatus();
  }

 private:
  static int64_t Aligned(int64_t floats) {
    return AlignUp(floats, kWinogradAlignment);
  }

  template <typename Fn>
  absl::Status ForEachBlockOf(int64_t team, const Fn& fn) const {
    const int64_t end = tiles.count() * (team + 1) / teams;
    for (int64_t i = tiles.count() * team / teams; i < end; i += block_tiles) {
      SPILLWAY_RETURN_IF_ERROR(
          fn(team, TileBlock{i, std::min(block_tiles, end - i)}));
    }
    return absl::OkStatus();
  }
};

// The convolution by `window`, which may be that of dy, in tiles that have
// `points` points when transformed; the channels are those of the stored
// filter.
WinogradPlan MakeWinogradPlan(const ConvSpec& spec, const Window& window,
                              const WinogradTile& tile, int64_t points);

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_CONV_WINOGRAD_PLAN_H_
