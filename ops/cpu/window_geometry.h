// Shared by the loops of our own pooling and convolution kernels: images with
// channels last, and a window over them. Two spatial dimensions are treated as
// three with one plane.
#ifndef SPILLWAY_OPS_CPU_WINDOW_GEOMETRY_H_
#define SPILLWAY_OPS_CPU_WINDOW_GEOMETRY_H_

#include <cstdint>

#include "base/interval.h"
#include "ops/common/window.h"
#include "ops/cpu/lanes.h"

namespace spillway {

struct WindowGeometry {
  int64_t batch = 1;
  int64_t channels = 1;
  WindowDim planes = {};
  WindowDim rows = {};
  WindowDim columns = {};

  // Offset of an element of an image of x.
  int64_t at(int64_t plane, int64_t row, int64_t column) const {
    return ((plane * rows.input + row) * columns.input + column) * channels;
  }
  // Offset of an element of an image of y.
  int64_t y_at(int64_t plane, int64_t row, int64_t column) const {
    return ((plane * rows.output + row) * columns.output + column) * channels;
  }
  int64_t image_size() const { return at(planes.input, 0, 0); }
  int64_t y_image_size() const { return y_at(planes.output, 0, 0); }
};

// `window` has two or three spatial dimensions.
inline WindowGeometry MakeWindowGeometry(int64_t batch, int64_t channels,
                                         const Window& window) {
  const size_t last = window.size() - 1;
  return {.batch = batch,
          .channels = channels,
          .planes = last == 2 ? window[0] : WindowDim(),
          .rows = window[last - 1],
          .columns = window[last]};
}

// A box of elements of x (a window without its padding), or of y.
struct Box {
  Interval planes = {};
  Interval rows = {};
  Interval columns = {};
};

// Calls fn(plane, row, column) for the elements of a box, row-major. (A
// function that uses vectors and is not inlined is compiled for the baseline:
// mark such a lambda always_inline.)
template <typename Fn>
[[gnu::always_inline]] inline void ForEachElement(const Box& box,
                                                  const Fn& fn) {
  for (int64_t plane = box.planes.begin; plane < box.planes.end; ++plane) {
    for (int64_t row = box.rows.begin; row < box.rows.end; ++row) {
      for (int64_t column = box.columns.begin; column < box.columns.end;
           ++column) {
        fn(plane, row, column);
      }
    }
  }
}

// Calls fn(first channel, lanes) for each block of channels that a vector of
// kBytes holds; mark fn always_inline, as above. Whole blocks are compiled
// separately from the last one, which may be smaller.
template <int kBytes, typename Fn>
[[gnu::always_inline]] inline void ForEachBlock(int64_t channels,
                                                const Fn& fn) {
  constexpr int64_t kLanes = Lanes<kBytes>::kCount;
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) fn(c, kLanes);
  if (c < channels) fn(c, channels - c);
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_WINDOW_GEOMETRY_H_
