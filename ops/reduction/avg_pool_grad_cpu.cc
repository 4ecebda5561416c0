#include <cstdint>
#include <utility>
#include <vector>

#include "base/interval.h"
#include "base/status_macros.h"
#include "ops/common/function_kernel.h"
#include "ops/common/pool.h"
#include "ops/cpu/lanes.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/storage.h"
#include "ops/cpu/window_geometry.h"
#include "ops/reduction/pool.h"

namespace spillway::ops {

// The pool uses oneDNN, but this gradient does not: if windows overlap, oneDNN
// accumulates 16-bit floats in dx itself. Here each element of dx gathers from
// the windows that cover it, in registers.

namespace {

// A pool; the factors for a window's gradient, one for each window position
// along each dimension; and the windows that cover each column.
struct AvgPoolGradient {
  WindowGeometry pool = {};
  std::vector<float> planes = {};
  std::vector<float> rows = {};
  std::vector<float> columns = {};
  std::vector<Interval> covering_columns = {};
};

// The part that one pixel needs. (A copy: through a reference, all of it would
// be read again after every store.)
struct PixelFactors {
  WindowGeometry pool = {};
  const float* planes = nullptr;
  const float* rows = nullptr;
  const float* columns = nullptr;
};

std::vector<float> Factors(const WindowDim& dim, bool counts_padding) {
  std::vector<float> factors;
  for (int64_t o = 0; o < dim.output; ++o) {
    factors.push_back(1.0F / static_cast<float>(counts_padding
                                                    ? dim.size
                                                    : dim.covered(o).length()));
  }
  return factors;
}

std::vector<Interval> Covering(const WindowDim& dim) {
  std::vector<Interval> windows;
  for (int64_t i = 0; i < dim.input; ++i) windows.push_back(dim.covering(i));
  return windows;
}

// Writes one pixel of dx, covered by `windows`, in kBlocks vectors of channels.
// `dy` is the image's; both pointers are at the first channel.
template <int kBytes, int kBlocks, typename T>
[[gnu::always_inline]] inline void WritePixel(const PixelFactors& factors,
                                              const Box& windows, const T* dy,
                                              int64_t lanes, T* dx) {
  using L = Lanes<kBytes>;
  typename L::Floats sums[kBlocks] = {};
  ForEachElement(
      windows, [&](int64_t p, int64_t r, int64_t c)
                   __attribute__((always_inline)) {
                     const float factor = factors.planes[p] * factors.rows[r] *
                                          factors.columns[c];
                     const T* window = dy + factors.pool.y_at(p, r, c);
                     for (int b = 0; b < kBlocks; ++b) {
                       typename L::Floats value = {};
                       L::Load(window + b * L::kCount, lanes, value);
                       sums[b] += value * factor;
                     }
                   });
  for (int b = 0; b < kBlocks; ++b) {
    L::Store(sums[b], lanes, dx + b * L::kCount);
  }
}

// Writes row `row` of plane `plane` of dx. `dy` is the image's, `dx` the row's.
template <int kBytes, typename T>
[[gnu::always_inline]] inline void WriteRow(const AvgPoolGradient& gradient,
                                            int64_t plane, int64_t row,
                                            const T* dy, T* dx) {
  constexpr int64_t kLanes = Lanes<kBytes>::kCount;
  const PixelFactors factors = {.pool = gradient.pool,
                                .planes = gradient.planes.data(),
                                .rows = gradient.rows.data(),
                                .columns = gradient.columns.data()};
  const int64_t channels = factors.pool.channels;
  Box windows = {.planes = gradient.pool.planes.covering(plane),
                 .rows = gradient.pool.rows.covering(row)};
  for (const Interval& columns : gradient.covering_columns) {
    windows.columns = columns;
    int64_t c = 0;
    for (; c + 4 * kLanes <= channels; c += 4 * kLanes) {
      WritePixel<kBytes, 4>(factors, windows, dy + c, kLanes, dx + c);
    }
    for (; c + kLanes <= channels; c += kLanes) {
      WritePixel<kBytes, 1>(factors, windows, dy + c, kLanes, dx + c);
    }
    if (c < channels) {
      WritePixel<kBytes, 1>(factors, windows, dy + c, channels - c, dx + c);
    }
    dx += channels;
  }
}

template <typename T>
void WriteRowBaseline(const AvgPoolGradient& gradient, int64_t plane,
                      int64_t row, const T* dy, T* dx) {
  WriteRow<16>(gradient, plane, row, dy, dx);
}
template <typename T>
[[gnu::target("avx2")]] void WriteRowAvx2(const AvgPoolGradient& gradient,
                                          int64_t plane, int64_t row,
                                          const T* dy, T* dx) {
  WriteRow<32>(gradient, plane, row, dy, dx);
}

template <typename T>
NewKernel GradientKernel(AvgPoolGradient gradient, int threads) {
  const auto write_row = HasAvx2() ? WriteRowAvx2<T> : WriteRowBaseline<T>;
  return MakeKernel(
      [=, gradient = std::move(gradient)](const KernelContext& context) {
        const WindowGeometry& pool = gradient.pool;
        const T* dy = context.input<T>(0);
        T* dx = context.output<T>(0);
        const int64_t height = pool.rows.input;
        const int64_t image_rows = pool.planes.input * height;
        const int64_t grain = 16384 / pool.at(0, 1, 0) + 1;
        ParallelFor(threads, pool.batch * image_rows, grain,
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) {
                        const int64_t image = i / image_rows;
                        const int64_t plane = i % image_rows / height;
                        write_row(gradient, plane, i % height,
                                  dy + image * pool.y_image_size(),
                                  dx + pool.at(0, i, 0));
                      }
                    });
      });
}

}  // namespace

NewKernel AvgPoolGradCpu(const KernelRequest& node) {
  const Shape& x = node.outputs[0].shape;
  SPILLWAY_ASSIGN_OR_RETURN(
      const bool counts_padding,
      node.attributes.GetBool("count_include_pad", false));
  SPILLWAY_ASSIGN_OR_RETURN(const Window window,
                            ReadPoolWindow(node.attributes, x));
  const WindowGeometry pool = MakeWindowGeometry(x.dim(0), x.dim(-1), window);
  const AvgPoolGradient gradient = {
      .pool = pool,
      .planes = Factors(pool.planes, counts_padding),
      .rows = Factors(pool.rows, counts_padding),
      .columns = Factors(pool.columns, counts_padding),
      .covering_columns = Covering(pool.columns)};
  return ForStorage(node.outputs[0], [&]<typename T>(T) -> NewKernel {
    return GradientKernel<T>(gradient, node.threads);
  });
}

}  // namespace spillway::ops
