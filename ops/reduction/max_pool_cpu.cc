// Without places, two passes for each row of windows: the maxima of the columns
// of x that the row covers, in float32, and then those of each window's
// columns. With places, each window is searched as a whole.
#include <algorithm>
#include <cstdint>

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
namespace {

// Lines of n elements each, `stride` elements from one to the next.
template <typename T>
struct Lines {
  const T* first = nullptr;
  int64_t stride = 0;
  int64_t count = 1;
  int64_t n = 0;
};

// to[i] = the largest element i of kCount lines from `at` on, and of to[i] if
// it counts.
template <int kCount, bool kCountsResult, typename From, typename To>
void MaxOf(const Lines<From>& lines, int64_t at, To* to) {
  const From* line = lines.first + at * lines.stride;
#pragma omp simd
  for (int64_t i = 0; i < lines.n; ++i) {
    float largest = kCountsResult ? Load(to[i]) : Load(line[i]);
#pragma GCC unroll 3
    for (int k = kCountsResult ? 0 : 1; k < kCount; ++k) {
      const float value = Load(line[k * lines.stride + i]);
      largest = value > largest ? value : largest;
    }
    to[i] = Store<To>(largest);
  }
}

// As MaxOf, for all lines, of which there is at least one.
template <typename From, typename To>
void MaxOfAll(const Lines<From>& lines, bool counts_result, To* to) {
  int64_t done = 0;
  if (!counts_result) {
    done = std::min<int64_t>(lines.count, 3);
    if (done == 1) MaxOf<1, false>(lines, 0, to);
    if (done == 2) MaxOf<2, false>(lines, 0, to);
    if (done == 3) MaxOf<3, false>(lines, 0, to);
  }
  for (; done < lines.count; ++done) MaxOf<1, true>(lines, done, to);
}

// The row `row` of windows of plane `plane`. `columns` has a row of x.
template <typename T>
void PoolRow(const WindowGeometry& pool, int64_t plane, int64_t row,
             const T* image, float* columns, T* y) {
  const Interval planes = pool.planes.covered(plane);
  const Interval rows = pool.rows.covered(row);
  const int64_t row_size = pool.at(0, 1, 0);
  for (int64_t p = planes.begin; p < planes.end; ++p) {
    MaxOfAll(Lines<T>{.first = image + pool.at(p, rows.begin, 0),
                      .stride = row_size,
                      .count = rows.length(),
                      .n = row_size},
             p > planes.begin, columns);
  }
  for (int64_t o = 0; o < pool.columns.output; ++o) {
    const Interval covered = pool.columns.covered(o);
    MaxOfAll(Lines<float>{.first = columns + covered.begin * pool.channels,
                          .stride = pool.channels,
                          .count = covered.length(),
                          .n = pool.channels},
             false, y + o * pool.channels);
  }
}

template <typename T>
void FindRowBaseline(const WindowGeometry& pool, int64_t plane, int64_t row,
                     const T* image, T* y, uint8_t* places) {
  max_pool::FindRow<16>(pool, plane, row, image, y, places);
}
template <typename T>
[[gnu::target("avx2")]] void FindRowAvx2(const WindowGeometry& pool,
                                         int64_t plane, int64_t row,
                                         const T* image, T* y,
                                         uint8_t* places) {
  max_pool::FindRow<32>(pool, plane, row, image, y, places);
}
template <typename T>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void FindRowAvx512(
    const WindowGeometry& pool, int64_t plane, int64_t row, const T* image,
    T* y, uint8_t* places) {
  max_pool::FindRow<64>(pool, plane, row, image, y, places);
}

// The rows of windows of all planes and images, split among threads.
struct SplitRows {
  WindowGeometry pool;
  int64_t parts = 1;

  SplitRows(const WindowGeometry& of, int threads) : pool(of) {
    const int64_t grain = 16384 / of.at(0, 1, 0) + 1;  // worth a thread
    parts = std::min<int64_t>(threads, (count() + grain - 1) / grain);
  }

  int64_t count() const {
    return pool.batch * pool.planes.output * pool.rows.output;
  }

  // Calls fn(part, plane, row, first element of its image, first element of y)
  // for each row.
  template <typename Fn>
  void ForEach(const Fn& fn) const {
    const int64_t of_image = pool.planes.output * pool.rows.output;
    ParallelFor(static_cast<int>(parts), parts, 1,
                [&](int64_t first_part, int64_t last_part) {
                  const int64_t end = count() * last_part / parts;
                  for (int64_t i = count() * first_part / parts; i < end; ++i) {
                    const int64_t row = i % of_image;
                    fn(first_part, row / pool.rows.output,
                       row % pool.rows.output, i / of_image * pool.image_size(),
                       i * pool.y_at(0, 1, 0));
                  }
                });
  }
};

template <typename T>
NewKernel PoolWithPlaces(const SplitRows& rows) {
  const auto find =
      Widest(FindRowBaseline<T>, FindRowAvx2<T>, FindRowAvx512<T>);
  return MakeKernel([=](const KernelContext& context) {
    rows.ForEach([&](int64_t /*part*/, int64_t plane, int64_t row, int64_t x_at,
                     int64_t y_at) {
      find(rows.pool, plane, row, context.input<T>(0) + x_at,
           context.output<T>(0) + y_at, context.output<uint8_t>(1) + y_at);
    });
  });
}

// Workspace: a row of x for each part.
template <typename T>
NewKernel Pool(const SplitRows& rows) {
  const int64_t row_size = rows.pool.at(0, 1, 0);
  return MakeKernel(
      [=](const KernelContext& context) {
        auto* columns = static_cast<float*>(context.workspace);
        rows.ForEach([&](int64_t part, int64_t plane, int64_t row, int64_t x_at,
                         int64_t y_at) {
          PoolRow(rows.pool, plane, row, context.input<T>(0) + x_at,
                  columns + part * row_size, context.output<T>(0) + y_at);
        });
      },
      rows.parts * row_size * static_cast<int64_t>(sizeof(float)));
}

}  // namespace

NewKernel MaxPoolCpu(const KernelRequest& node) {
  const Shape& x = node.inputs[0].shape;
  SPILLWAY_ASSIGN_OR_RETURN(const Window window,
                            ReadPoolWindow(node.attributes, x));
  SPILLWAY_ASSIGN_OR_RETURN(const bool has_places,
                            node.attributes.GetBool("places", false));
  const SplitRows rows(MakeWindowGeometry(x.dim(0), x.dim(-1), window),
                       node.threads);
  return ForStorage(node.inputs[0], [&]<typename T>(T) -> NewKernel {
    if (has_places) return PoolWithPlaces<T>(rows);
    return Pool<T>(rows);
  });
}

}  // namespace spillway::ops
