// The inner loops of the gradient of max pooling, for one image: the maxima are
// recomputed from x, in registers, one block of channels at a time.
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

// All columns of some rows of some planes, of x or of the windows.
struct Slab {
  Interval planes = {};
  Interval rows = {};

  bool contains(int64_t plane, int64_t row) const {
    return planes.contains(plane) && rows.contains(row);
  }
};

// One image (or all of them): its inputs and outputs.
template <typename T>
struct Buffers {
  const T* x = nullptr;
  const T* dy = nullptr;
  T* dx = nullptr;

  Buffers image(const WindowGeometry& pool, int64_t i) const {
    const int64_t place = i * pool.image_size();
    return {x + place, dy + i * pool.y_image_size(), dx + place};
  }
};

template <typename T>
void Zero(T* begin, int64_t n) {
  if (n > 0) std::fill_n(begin, n, T());
}

// The index of the largest element of a window in each lane; elements are
// numbered row-major from 0. `x` is the image at the first of the channels.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void FindMaximum(
    const WindowGeometry& pool, const Box& box, const T* x, int64_t lanes,
    typename Lanes<kBytes>::Ints& found) {
  using L = Lanes<kBytes>;
  typename L::Floats best = {};
  L::Load(x + pool.at(box.planes.begin, box.rows.begin, box.columns.begin),
          lanes, best);
  typename L::Ints number = {};
  found = number;
  ForEachElement(
      box, [&](int64_t plane, int64_t row, int64_t column)
               __attribute__((always_inline)) {
                 typename L::Floats value = {};
                 L::Load(x + pool.at(plane, row, column), lanes, value);
                 const typename L::Ints is_larger = value > best;
                 best = is_larger ? value : best;
                 found = is_larger ? number : found;
                 number += 1;
               });
}

// Writes the gradient of one window to all its elements. Reads each element of
// x before it writes the same element of dx.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void WriteWindow(const WindowGeometry& pool,
                                               const Box& box, const T* dy,
                                               const Buffers<T>& image) {
  using L = Lanes<kBytes>;
  ForEachBlock<kBytes>(
      pool.channels, [&](int64_t c,
                         int64_t lanes) __attribute__((always_inline)) {
        typename L::Ints found = {};
        FindMaximum<kBytes>(pool, box, image.x + c, lanes, found);
        typename L::Floats gradient = {};
        L::Load(dy + c, lanes, gradient);
        typename L::Ints number = {};
        ForEachElement(
            box, [&](int64_t plane, int64_t row,
                     int64_t column) __attribute__((always_inline)) {
              L::Store(number == found ? gradient : typename L::Floats{}, lanes,
                       image.dx + pool.at(plane, row, column) + c);
              number += 1;
            });
      });
}

// Adds the gradient of one window to `sums`, the elements of `own`.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void AddWindow(const WindowGeometry& pool,
                                             const Box& box, const Slab& own,
                                             const T* x, const T* dy,
                                             float* sums) {
  using L = Lanes<kBytes>;
  const int64_t first = pool.at(own.planes.begin, own.rows.begin, 0);
  ForEachBlock<kBytes>(
      pool.channels, [&](int64_t c,
                         int64_t lanes) __attribute__((always_inline)) {
        typename L::Ints found = {};
        FindMaximum<kBytes>(pool, box, x + c, lanes, found);
        typename L::Floats gradient = {};
        L::Load(dy + c, lanes, gradient);
        typename L::Ints number = {};
        ForEachElement(
            box, [&](int64_t plane, int64_t row,
                     int64_t column) __attribute__((always_inline)) {
              if (own.contains(plane, row)) {
                float* place = sums + (pool.at(plane, row, column) - first + c);
                typename L::Floats sum = {};
                L::Load(place, lanes, sum);
                sum += number == found ? gradient : typename L::Floats{};
                L::Store(sum, lanes, place);
              }
              number += 1;
            });
      });
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
  Box box = {.planes = pool.planes.covered(plane),
             .rows = pool.rows.covered(row)};
  for (int64_t o = 0; o < pool.columns.output; ++o) {
    box.columns = pool.columns.covered(o);
    WriteWindow<kBytes>(pool, box, image.dy + pool.y_at(plane, row, o), image);
    const Interval gap = Gap(pool.columns, o);
    if (gap.empty()) continue;
    ForEachElement(
        {box.planes, box.rows, {gap.begin, gap.begin + 1}},
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
        const Box box = {.planes = pool.planes.covered(plane),
                         .rows = pool.rows.covered(row),
                         .columns = pool.columns.covered(column)};
        AddWindow<kBytes>(pool, box, own, image.x,
                          image.dy + pool.y_at(plane, row, column), sums);
      });
  if constexpr (!std::is_same_v<T, float>) {
    T* dx = image.dx + pool.at(own.planes.begin, own.rows.begin, 0);
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) dx[i] = Store<T>(sums[i]);
  }
}

}  // namespace spillway::max_pool

#endif  // SPILLWAY_OPS_CPU_MAX_POOL_SLAB_H_
