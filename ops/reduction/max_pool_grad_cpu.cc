#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/interval.h"
#include "base/status_macros.h"
#include "ops/common/function_kernel.h"
#include "ops/common/pool.h"
#include "ops/cpu/lanes.h"
#include "ops/cpu/max_pool_slab.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/storage.h"
#include "ops/cpu/window_geometry.h"
#include "ops/reduction/pool.h"

namespace spillway::ops {

// Slices are split among threads: the planes of an image, or its rows if there
// is only one plane.

namespace {

using max_pool::Buffers;
using max_pool::Slab;

template <typename T>
void WriteSlabBaseline(const WindowGeometry& pool, const Slab& windows,
                       const Buffers<T>& image) {
  max_pool::WriteSlab<16>(pool, windows, image);
}
template <typename T>
[[gnu::target("avx2")]] void WriteSlabAvx2(const WindowGeometry& pool,
                                           const Slab& windows,
                                           const Buffers<T>& image) {
  max_pool::WriteSlab<32>(pool, windows, image);
}
template <typename T>
void AddSlabBaseline(const WindowGeometry& pool, const Slab& own,
                     const Buffers<T>& image, float* sums) {
  max_pool::AddSlab<16>(pool, own, image, sums);
}
template <typename T>
[[gnu::target("avx2")]] void AddSlabAvx2(const WindowGeometry& pool,
                                         const Slab& own,
                                         const Buffers<T>& image, float* sums) {
  max_pool::AddSlab<32>(pool, own, image, sums);
}

template <typename T>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void WriteSlabAvx512(
    const WindowGeometry& pool, const Slab& windows, const Buffers<T>& image) {
  max_pool::WriteSlab<64>(pool, windows, image);
}
template <typename T>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void AddSlabAvx512(
    const WindowGeometry& pool, const Slab& own, const Buffers<T>& image,
    float* sums) {
  max_pool::AddSlab<64>(pool, own, image, sums);
}

bool IsFlat(const WindowGeometry& pool) { return pool.planes.input == 1; }

const WindowDim& Slices(const WindowGeometry& pool) {
  return IsFlat(pool) ? pool.rows : pool.planes;
}

int64_t SliceSize(const WindowGeometry& pool) {
  return IsFlat(pool) ? pool.at(0, 1, 0) : pool.at(1, 0, 0);
}

// Slices that are worth a separate thread.
int64_t Grain(const WindowGeometry& pool) {
  return 16384 / SliceSize(pool) + 1;
}

// The slab of some slices, of x or of the windows of one image.
Slab SlabOf(const WindowGeometry& pool, const Interval& slices, int64_t rows) {
  return IsFlat(pool) ? Slab{.planes = {0, 1}, .rows = slices}
                      : Slab{.planes = slices, .rows = {0, rows}};
}

// Splits slices [begin, end), counted over all images, at the ends of images
// and into pieces of at most `most`: calls fn(image, slices of it).
template <typename Fn>
void ForEachPiece(const Interval& range, int64_t slices, int64_t most,
                  const Fn& fn) {
  for (int64_t i = range.begin; i < range.end;) {
    const int64_t image = i / slices;
    const int64_t first = i - image * slices;
    const int64_t n = std::min({slices - first, range.end - i, most});
    fn(image, Interval{first, first + n});
    i += n;
  }
}

template <typename T>
Buffers<T> BuffersOf(const KernelContext& context, bool has_places) {
  return {.x = has_places ? nullptr : context.input<T>(0),
          .places = has_places ? context.input<uint8_t>(0) : nullptr,
          .dy = context.input<T>(1),
          .dx = context.output<T>(0)};
}

template <typename T>
NewKernel DisjointGradient(const WindowGeometry& pool, bool has_places,
                           int threads) {
  const auto write =
      Widest(WriteSlabBaseline<T>, WriteSlabAvx2<T>, WriteSlabAvx512<T>);
  return MakeKernel([=](const KernelContext& context) {
    const Buffers<T> all = BuffersOf<T>(context, has_places);
    const int64_t slices = Slices(pool).output;
    ParallelFor(threads, pool.batch * slices, Grain(pool),
                [&](int64_t begin, int64_t end) {
                  ForEachPiece({begin, end}, slices, slices,
                               [&](int64_t image, const Interval& piece) {
                                 write(pool,
                                       SlabOf(pool, piece, pool.rows.output),
                                       all.image(pool, image));
                               });
                });
  });
}

// How the elements of dx are summed: the slices are split into `parts`, and
// each part processes `most` at a time; their sums are in dx itself or in the
// workspace.
struct Bands {
  int64_t parts = 1;
  int64_t most = 1;
  int64_t workspace = 0;  // floats of each part
};

// Bands of 16-bit floats are summed in float32 before they are stored. They are
// long enough that few windows reach into two of them, and short enough to stay
// in a cache.
template <typename T>
Bands BandsOf(const WindowGeometry& pool, int threads) {
  const int64_t slices = Slices(pool).input;
  const int64_t grain = Grain(pool);
  Bands bands = {.parts = std::min<int64_t>(
                     threads, (pool.batch * slices + grain - 1) / grain),
                 .most = slices};
  if constexpr (!std::is_same_v<T, float>) {
    constexpr int64_t kCachedFloats = int64_t{64} * 1024;
    const int64_t cached = kCachedFloats / SliceSize(pool);
    const int64_t of_part = pool.batch * slices / bands.parts + 1;
    bands.most =
        std::min({slices, of_part, std::max(cached, 2 * Slices(pool).size)});
    bands.workspace = bands.most * SliceSize(pool);
  }
  return bands;
}

template <typename T>
NewKernel OverlappingGradient(const WindowGeometry& pool, bool has_places,
                              int threads) {
  const auto add = Widest(AddSlabBaseline<T>, AddSlabAvx2<T>, AddSlabAvx512<T>);
  const Bands bands = BandsOf<T>(pool, threads);
  const auto add_part = [=](const Buffers<T>& all, int64_t part, float* sums) {
    const int64_t slices = Slices(pool).input;
    const int64_t n = pool.batch * slices;
    ForEachPiece({n * part / bands.parts, n * (part + 1) / bands.parts}, slices,
                 bands.most, [&](int64_t i, const Interval& piece) {
                   const Buffers<T> image = all.image(pool, i);
                   if constexpr (std::is_same_v<T, float>) {
                     sums = image.dx + piece.begin * SliceSize(pool);
                   }
                   add(pool, SlabOf(pool, piece, pool.rows.input), image, sums);
                 });
  };
  return MakeKernel(
      [=](const KernelContext& context) {
        const Buffers<T> all = BuffersOf<T>(context, has_places);
        ParallelFor(static_cast<int>(bands.parts), bands.parts, 1,
                    [&](int64_t begin, int64_t end) {
                      for (int64_t part = begin; part < end; ++part) {
                        add_part(all, part,
                                 static_cast<float*>(context.workspace) +
                                     part * bands.workspace);
                      }
                    });
      },
      bands.parts * bands.workspace * static_cast<int64_t>(sizeof(float)));
}

bool AreDisjoint(const Window& window) {
  return std::ranges::all_of(
      window, [](const WindowDim& dim) { return dim.stride >= dim.size; });
}

}  // namespace

NewKernel MaxPoolGradCpu(const KernelRequest& node) {
  const Shape& x = node.outputs[0].shape;
  SPILLWAY_ASSIGN_OR_RETURN(const Window window,
                            ReadPoolWindow(node.attributes, x));
  SPILLWAY_ASSIGN_OR_RETURN(const bool has_places,
                            node.attributes.GetBool("places", false));
  const WindowGeometry pool = MakeWindowGeometry(x.dim(0), x.dim(-1), window);
  return ForStorage(node.outputs[0], [&]<typename T>(T) -> NewKernel {
    if (!AreDisjoint(window)) {
      return OverlappingGradient<T>(pool, has_places, node.threads);
    }
    return DisjointGradient<T>(pool, has_places, node.threads);
  });
}

}  // namespace spillway::ops
