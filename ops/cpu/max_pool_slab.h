// The inner loops of max pooling that know where the maxima are, and of its
// gradient, for one image: the maxima are found again from x, in registers, one
// block of channels at a time, or the pool has saved their places.
//
// Tensors are stored as T, float or BFloat16; loops are templates over the
// width of vectors in bytes (ops/cpu/lanes.h).
#ifndef SPILLWAY_OPS_CPU_MAX_POOL_SLAB_H_
#define SPILLWAY_OPS_CPU_MAX_POOL_SLAB_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/interval.h"
#include "ops/common/window.h"
#include "ops/cpu/lanes.h"
#include "ops/cpu/storage.h"
#include "ops/cpu/window_geometry.h"

namespace spillway::max_pool {

// A window: the box of its elements that are not padding. They are numbered
// row-major from 0, padding counted.
struct PoolWindow {
  Box box = {};
  // Of the element that is number 0, which may be padding.
  int64_t plane = 0;
  int64_t row = 0;
  int64_t column = 0;
  // Sizes, padding counted.
  int64_t rows = 1;
  int64_t columns = 1;
};

inline PoolWindow WindowAt(const WindowGeometry& pool, int64_t plane,
                           int64_t row, int64_t column) {
  const auto origin = [](const WindowDim& dim, int64_t o) {
    return o * dim.stride - dim.pad_before;
  };
  return {.box = {.planes = pool.planes.covered(plane),
                  .rows = pool.rows.covered(row),
                  .columns = pool.columns.covered(column)},
          .plane = origin(pool.planes, plane),
          .row = origin(pool.rows, row),
          .column = origin(pool.columns, column),
          .rows = pool.rows.size,
          .columns = pool.columns.size};
}

// Calls fn(plane, row, column, number) for the elements of a window, row-major;
// mark fn always_inline, as with ForEachElement.
template <typename Fn>
[[gnu::always_inline]] inline void ForEachNumbered(const PoolWindow& window,
                                                   const Fn& fn) {
  const Box& box = window.box;
  for (int64_t plane = box.planes.begin; plane < box.planes.end; ++plane) {
    for (int64_t row = box.rows.begin; row < box.rows.end; ++row) {
      const int64_t line =
          (plane - window.plane) * window.rows + row - window.row;
      auto number = static_cast<int32_t>(line * window.columns +
                                         box.columns.begin - window.column);
      for (int64_t column = box.columns.begin; column < box.columns.end;
           ++column) {
        fn(plane, row, column, number);
        ++number;
      }
    }
  }
}

// All columns of some rows of some planes, of x or of the windows.
struct Slab {
  Interval planes = {};
  Interval rows = {};

  bool contains(int64_t plane, int64_t row) const {
    return planes.contains(plane) && rows.contains(row);
  }
};

// One image (or all of them): its inputs and outputs. One of x and places is
// null.
template <typename T>
struct Buffers {
  const T* x = nullptr;
  const uint8_t* places = nullptr;  // by element of dy: a number in its window
  const T* dy = nullptr;
  T* dx = nullptr;

  Buffers image(const WindowGeometry& pool, int64_t i) const {
    const int64_t place = i * pool.image_size();
    const int64_t y_place = i * pool.y_image_size();
    return {x == nullptr ? nullptr : x + place,
            places == nullptr ? nullptr : places + y_place, dy + y_place,
            dx + place};
  }
};

template <typename T>
void Zero(T* begin, int64_t n) {
  if (n > 0) std::fill_n(begin, n, T());
}

// The largest element of a window in each lane and its number. `x` is the image
// at the first of the channels.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void FindMaximum(
    const WindowGeometry& pool, const PoolWindow& window, const T* x,
    int64_t lanes, typename Lanes<kBytes>::Floats& best,
    typename Lanes<kBytes>::Ints& found) {
  using L = Lanes<kBytes>;
  const Box& box = window.box;
  best = typename L::Floats{};
  L::Load(x + pool.at(box.planes.begin, box.rows.begin, box.columns.begin),
          lanes, best);
  bool is_first = true;
  ForEachNumbered(
      window, [&](int64_t plane, int64_t row, int64_t column, int32_t number)
                  __attribute__((always_inline)) {
                    const typename L::Ints here = typename L::Ints{} + number;
                    if (is_first) {
                      found = here;
                      is_first = false;
                      return;
                    }
                    typename L::Floats value = {};
                    L::Load(x + pool.at(plane, row, column), lanes, value);
                    const typename L::Ints is_larger = value > best;
                    best = is_larger ? value : best;
                    found = is_larger ? here : found;
                  });
}

// The number of a window's largest element in each lane, for the channels from
// `c` on; `y` is the place of the window's element in an image of dy.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void MaximumOf(
    const WindowGeometry& pool, const PoolWindow& window,
    const Buffers<T>& image, int64_t y, int64_t c, int64_t lanes,
    typename Lanes<kBytes>::Ints& found) {
  if (image.places != nullptr) {
    Lanes<kBytes>::Load(image.places + y + c, lanes, found);
    return;
  }
  typename Lanes<kBytes>::Floats best = {};
  FindMaximum<kBytes>(pool, window, image.x + c, lanes, best, found);
}

// Writes the gradient of one window to all its elements. Reads each element of
// x before it writes the same element of dx.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void WriteWindow(const WindowGeometry& pool,
                                               const PoolWindow& window,
                                               int64_t y,
                                               const Buffers<T>& image) {
  using L = Lanes<kBytes>;
  ForEachBlock<kBytes>(
      pool.channels, [&](int64_t c,
                         int64_t lanes) __attribute__((always_inline)) {
        typename L::Ints found = {};
        MaximumOf<kBytes>(pool, window, image, y, c, lanes, found);
        typename L::Floats gradient = {};
        L::Load(image.dy + y + c, lanes, gradient);
        ForEachNumbered(
            window, [&](int64_t plane, int64_t row, int64_t column,
                        int32_t number) __attribute__((always_inline)) {
              const typename L::Ints here = typename L::Ints{} + number;
              L::Store(here == found ? gradient : typename L::Floats{}, lanes,
                       image.dx + pool.at(plane, row, column) + c);
            });
      });
}

// Adds the gradient of one window to `sums`, the elements of `own`.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void AddWindow(const WindowGeometry& pool,
                                             const PoolWindow& window,
                                             int64_t y, const Slab& own,
                                             const Buffers<T>& image,
                                             float* sums) {
  using L = Lanes<kBytes>;
  const int64_t first = pool.at(own.planes.begin, own.rows.begin, 0);
  ForEachBlock<kBytes>(
      pool.channels, [&](int64_t c,
                         int64_t lanes) __attribute__((always_inline)) {
        typename L::Ints found = {};
        MaximumOf<kBytes>(pool, window, image, y, c, lanes, found);
        typename L::Floats gradient = {};
        L::Load(image.dy + y + c, lanes, gradient);
        ForEachNumbered(
            window, [&](int64_t plane, int64_t row, int64_t column,
                        int32_t number) __attribute__((always_inline)) {
              if (!own.contains(plane, row)) return;
              float* place = sums + (pool.at(plane, row, column) - first + c);
              typename L::Floats sum = {};
              L::Load(place, lanes, sum);
              const typename L::Ints here = typename L::Ints{} + number;
              sum += here == found ? gradient : typename L::Floats{};
              L::Store(sum, lanes, place);
            });
      });
}

// The maxima of a row of windows, and their numbers in them.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void FindRow(const WindowGeometry& pool,
                                           int64_t plane, int64_t row,
                                           const T* x, T* y, uint8_t* places) {
  using L = Lanes<kBytes>;
  for (int64_t o = 0; o < pool.columns.output; ++o) {
    const PoolWindow window = WindowAt(pool, plane, row, o);
    ForEachBlock<kBytes>(
        pool.channels, [&](int64_t c,
                           int64_t lanes) __attribute__((always_inline)) {
          typename L::Floats best = {};
          typename L::Ints found = {};
          FindMaximum<kBytes>(pool, window, x + c, lanes, best, found);
          const int64_t at = o * pool.channels + c;
          L::Store(best, lanes, y + at);
          L::Store(found, lanes, places + at);
        });
  }
}

// Elements after window `o` and before the next window, which no window covers.
Interval Gap(const WindowDim& dim, int64_t o) {
  return {dim.covered(o).end,
          o + 1 < dim.output ? dim.covered(o + 1).begin : dim.input};
}

// Disjoint windows: writes one row of them, and the columns between them.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void WriteRow(const WindowGeometry& pool,
                                            int64_t plane, int64_t row,
                                            const Buffers<T>& image) {
  for (int64_t o = 0; o < pool.columns.output; ++o) {
    const PoolWindow window = WindowAt(pool, plane, row, o);
    WriteWindow<kBytes>(pool, window, pool.y_at(plane, row, o), image);
    const Interval gap = Gap(pool.columns, o);
    if (gap.empty()) continue;
    ForEachElement(
        {window.box.planes, window.box.rows, {gap.begin, gap.begin + 1}},
        [&](int64_t p, int64_t r, int64_t c) __attribute__((always_inline)) {
          Zero(image.dx + pool.at(p, r, c), gap.length() * pool.channels);
        });
  }
}

// Disjoint windows: writes those of a slab, and the elements between them and
// the next windows.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void WriteSlab(WindowGeometry pool,
                                             const Slab& windows,
                                             const Buffers<T>& image) {
  for (int64_t o = windows.planes.begin; o < windows.planes.end; ++o) {
    const Interval planes = pool.planes.covered(o);
    for (int64_t row = windows.rows.begin; row < windows.rows.end; ++row) {
      WriteRow<kBytes>(pool, o, row, image);
      const Interval gap = Gap(pool.rows, row);
      for (int64_t plane = planes.begin; plane < planes.end; ++plane) {
        Zero(image.dx + pool.at(plane, gap.begin, 0),
             pool.at(0, gap.length(), 0));
      }
    }
    const Interval gap = Gap(pool.planes, o);
    Zero(image.dx + pool.at(gap.begin, 0, 0), pool.at(gap.length(), 0, 0));
  }
}

// Windows that cover any of `elements`.
Interval Covering(const WindowDim& dim, const Interval& elements) {
  return {dim.covering(elements.begin).begin,
          dim.covering(elements.end - 1).end};
}

// Overlapping windows: sums the elements of `own` in `sums`, and stores them in
// dx. The result does not depend on the rest of the slab.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void AddSlab(WindowGeometry pool, const Slab& own,
                                           const Buffers<T>& image,
                                           float* sums) {
  const int64_t size = pool.at(own.planes.length() - 1, own.rows.length(), 0);
  Zero(sums, size);
  const Box windows = {.planes = Covering(pool.planes, own.planes),
                       .rows = Covering(pool.rows, own.rows),
                       .columns = {0, pool.columns.output}};
  ForEachElement(
      windows, [&](int64_t plane, int64_t row,
                   int64_t column) __attribute__((always_inline)) {
        AddWindow<kBytes>(pool, WindowAt(pool, plane, row, column),
                          pool.y_at(plane, row, column), own, image, sums);
      });
  if constexpr (!std::is_same_v<T, float>) {
    T* dx = image.dx + pool.at(own.planes.begin, own.rows.begin, 0);
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) dx[i] = Store<T>(sums[i]);
  }
}

}  // namespace spillway::max_pool

#endif  // SPILLWAY_OPS_CPU_MAX_POOL_SLAB_H_
