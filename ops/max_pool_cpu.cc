// The pool is oneDNN's. Its gradient is not: oneDNN wants the indices of the
// maxima, a tensor that would have to be kept from the forward pass. Here the
// maxima are found again, in registers, one block of channels at a time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/interval.h"
#include "base/status_macros.h"
#include "ops/common/pool.h"
#include "ops/cpu/expect_float32.h"
#include "ops/cpu/function_kernel.h"
#include "ops/cpu/lanes.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/pool_kernel.h"
#include "ops/max_pool.h"

namespace spillway::ops {
namespace {

struct Pool {
  int64_t batch = 1;
  int64_t channels = 1;
  WindowDim rows = {};
  WindowDim columns = {};

  // Where element (row, column) of an image is.
  int64_t at(int64_t row, int64_t column) const {
    return (row * columns.input + column) * channels;
  }
  int64_t image_size() const { return at(rows.input, 0); }
  int64_t output_row_size() const { return columns.output * channels; }
  // Rows of x that are worth a thread.
  int64_t grain() const { return 16384 / at(1, 0) + 1; }
};

// A window without its padding.
struct Box {
  Interval rows = {};
  Interval columns = {};
};

// One image (or all of them): what is read and what is written.
struct Buffers {
  const float* x = nullptr;
  const float* dy = nullptr;
  float* dx = nullptr;

  Buffers at(int64_t x_offset, int64_t dy_offset) const {
    return {x + x_offset, dy + dy_offset, dx + x_offset};
  }
  Buffers channel(int64_t c) const { return at(c, c); }
};

void Zero(float* begin, int64_t n) {
  if (n > 0) std::memset(begin, 0, static_cast<size_t>(n) * sizeof(float));
}

// Calls fn(row, column) for the elements of a window, row-major.
template <typename Fn>
[[gnu::always_inline]] inline void ForEachElement(const Box& box,
                                                  const Fn& fn) {
  for (int64_t row = box.rows.begin; row < box.rows.end; ++row) {
    for (int64_t column = box.columns.begin; column < box.columns.end;
         ++column) {
      fn(row, column);
    }
  }
}

// The number of the largest element of a window in each lane: elements are
// numbered row-major from 0. `x` is the image at the first of the channels.
template <int kBytes>
[[gnu::always_inline]] inline void FindMaximum(
    const Pool& pool, const Box& box, const float* x, int64_t lanes,
    typename Lanes<kBytes>::Ints& found) {
  using L = Lanes<kBytes>;
  typename L::Floats best = {};
  L::Load(x + pool.at(box.rows.begin, box.columns.begin), lanes, best);
  typename L::Ints number = {};
  found = number;
  ForEachElement(box, [&](int64_t row, int64_t column) {
    typename L::Floats value = {};
    L::Load(x + pool.at(row, column), lanes, value);
    const typename L::Ints is_larger = value > best;
    best = is_larger ? value : best;
    found = is_larger ? number : found;
    number += 1;
  });
}

// Writes the gradient of one window, in one block of channels, to all its
// elements. Reads each element of x before it writes the same element of dx.
template <int kBytes>
[[gnu::always_inline]] inline void WriteBlock(const Pool& pool, const Box& box,
                                              const Buffers& at,
                                              int64_t lanes) {
  using L = Lanes<kBytes>;
  typename L::Ints found = {};
  FindMaximum<kBytes>(pool, box, at.x, lanes, found);
  typename L::Floats dy = {};
  L::Load(at.dy, lanes, dy);
  typename L::Ints number = {};
  ForEachElement(box, [&](int64_t row, int64_t column) {
    L::Store(number == found ? dy : typename L::Floats{}, lanes,
             at.dx + pool.at(row, column));
    number += 1;
  });
}

// Adds the gradient of one window, in one block of channels, to its elements
// that lie in the rows `own`.
template <int kBytes>
[[gnu::always_inline]] inline void AddBlock(const Pool& pool, const Box& box,
                                            const Interval& own,
                                            const Buffers& at, int64_t lanes) {
  using L = Lanes<kBytes>;
  typename L::Ints found = {};
  FindMaximum<kBytes>(pool, box, at.x, lanes, found);
  typename L::Floats dy = {};
  L::Load(at.dy, lanes, dy);
  typename L::Ints number = {};
  ForEachElement(box, [&](int64_t row, int64_t column) {
    if (own.contains(row)) {
      float* dx = at.dx + pool.at(row, column);
      typename L::Floats sum = {};
      L::Load(dx, lanes, sum);
      sum += number == found ? dy : typename L::Floats{};
      L::Store(sum, lanes, dx);
    }
    number += 1;
  });
}

// Whole blocks are compiled apart from the last one, which may be smaller.
template <int kBytes>
[[gnu::always_inline]] inline void WriteWindow(const Pool& pool, const Box& box,
                                               const Buffers& at) {
  constexpr int64_t kLanes = Lanes<kBytes>::kCount;
  int64_t c = 0;
  for (; c + kLanes <= pool.channels; c += kLanes) {
    WriteBlock<kBytes>(pool, box, at.channel(c), kLanes);
  }
  if (c < pool.channels) {
    WriteBlock<kBytes>(pool, box, at.channel(c), pool.channels - c);
  }
}

template <int kBytes>
[[gnu::always_inline]] inline void AddWindow(const Pool& pool, const Box& box,
                                             const Interval& own,
                                             const Buffers& at) {
  constexpr int64_t kLanes = Lanes<kBytes>::kCount;
  int64_t c = 0;
  for (; c + kLanes <= pool.channels; c += kLanes) {
    AddBlock<kBytes>(pool, box, own, at.channel(c), kLanes);
  }
  if (c < pool.channels) {
    AddBlock<kBytes>(pool, box, own, at.channel(c), pool.channels - c);
  }
}

// Elements after window `o` and before the next that no window covers.
Interval Gap(const WindowDim& dim, int64_t o) {
  return {dim.covered(o).end,
          o + 1 < dim.output ? dim.covered(o + 1).begin : dim.input};
}

// Windows that do not overlap: the rows of dx from window row `o` to the next.
template <int kBytes>
[[gnu::always_inline]] inline void WriteRows(const Pool& pool, int64_t o,
                                             const Buffers& image) {
  Box box = {.rows = pool.rows.covered(o)};
  for (int64_t column = 0; column < pool.columns.output; ++column) {
    box.columns = pool.columns.covered(column);
    WriteWindow<kBytes>(pool, box, image.at(0, column * pool.channels));
    const Interval gap = Gap(pool.columns, column);
    for (int64_t row = box.rows.begin; row < box.rows.end; ++row) {
      Zero(image.dx + pool.at(row, gap.begin), gap.length() * pool.channels);
    }
  }
  const Interval gap = Gap(pool.rows, o);
  Zero(image.dx + pool.at(gap.begin, 0), pool.at(gap.length(), 0));
}

// Windows that overlap: the rows `own` of dx. The bits of a row do not depend
// on which rows are computed with it.
template <int kBytes>
[[gnu::always_inline]] inline void AddRows(const Pool& pool,
                                           const Interval& own,
                                           const Buffers& image) {
  Zero(image.dx + pool.at(own.begin, 0), pool.at(own.length(), 0));
  const int64_t end = pool.rows.covering(own.end - 1).end;
  for (int64_t o = pool.rows.covering(own.begin).begin; o < end; ++o) {
    Box box = {.rows = pool.rows.covered(o)};
    for (int64_t column = 0; column < pool.columns.output; ++column) {
      box.columns = pool.columns.covered(column);
      const int64_t dy = (o * pool.columns.output + column) * pool.channels;
      AddWindow<kBytes>(pool, box, own, image.at(0, dy));
    }
  }
}

using WriteRowsFunction = void (*)(const Pool&, int64_t, const Buffers&);
using AddRowsFunction = void (*)(const Pool&, const Interval&, const Buffers&);

void WriteRowsBaseline(const Pool& pool, int64_t o, const Buffers& image) {
  WriteRows<16>(pool, o, image);
}
[[gnu::target("avx2")]] void WriteRowsAvx2(const Pool& pool, int64_t o,
                                           const Buffers& image) {
  WriteRows<32>(pool, o, image);
}
void AddRowsBaseline(const Pool& pool, const Interval& own,
                     const Buffers& image) {
  AddRows<16>(pool, own, image);
}
[[gnu::target("avx2")]] void AddRowsAvx2(const Pool& pool, const Interval& own,
                                         const Buffers& image) {
  AddRows<32>(pool, own, image);
}

Buffers BuffersOf(const KernelContext& context) {
  return {.x = context.input<float>(0),
          .dy = context.input<float>(1),
          .dx = context.output<float>(0)};
}

NewKernel DisjointGradient(const Pool& pool, int threads) {
  const WriteRowsFunction write = HasAvx2() ? WriteRowsAvx2 : WriteRowsBaseline;
  return MakeKernel([=](const KernelContext& context) {
    const Buffers all = BuffersOf(context);
    const int64_t rows = pool.batch * pool.rows.output;
    ParallelFor(threads, rows, pool.grain(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / pool.rows.output;
        write(pool, i % pool.rows.output,
              all.at(image * pool.image_size(), i * pool.output_row_size()));
      }
    });
  });
}

NewKernel OverlappingGradient(const Pool& pool, int threads) {
  const AddRowsFunction add = HasAvx2() ? AddRowsAvx2 : AddRowsBaseline;
  return MakeKernel([=](const KernelContext& context) {
    const Buffers all = BuffersOf(context);
    const int64_t height = pool.rows.input;
    const int64_t output_size = pool.rows.output * pool.output_row_size();
    ParallelFor(
        threads, pool.batch * height, pool.grain(),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end;) {
            const int64_t image = i / height;
            const int64_t first = image * height;
            const Interval own = {i - first, std::min(end - first, height)};
            add(pool, own,
                all.at(image * pool.image_size(), image * output_size));
            i += own.length();
          }
        });
  });
}

}  // namespace

NewKernel MaxPoolCpu(const KernelRequest& node) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  const Shape& x = node.inputs[0].shape;
  ASSIGN_OR_RETURN(const Window window, ReadPoolWindow(node.attributes, x));
  return MakePoolKernel({.algorithm = dnnl::algorithm::pooling_max,
                         .batch = x.dim(0),
                         .channels = x.dim(3),
                         .window = window,
                         .threads = node.threads});
}

NewKernel MaxPoolGradCpu(const KernelRequest& node) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  const Shape& x = node.inputs[0].shape;
  ASSIGN_OR_RETURN(const Window window, ReadPoolWindow(node.attributes, x));
  const Pool pool = {.batch = x.dim(0),
                     .channels = x.dim(3),
                     .rows = window[0],
                     .columns = window[1]};
  const bool are_disjoint = pool.rows.stride >= pool.rows.size &&
                            pool.columns.stride >= pool.columns.size;
  return are_disjoint ? DisjointGradient(pool, node.threads)
                      : OverlappingGradient(pool, node.threads);
}

}  // namespace spillway::ops
