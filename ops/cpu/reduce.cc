#include "ops/cpu/reduce.h"

#include <algorithm>

#include "ops/cpu/parallel.h"
#include "ops/cpu/storage.h"

namespace spillway {
namespace {

constexpr int64_t kColumns = 2048;        // per task: its sums stay in cache
constexpr int64_t kTasks = 64;            // enough for any machine's threads
constexpr int64_t kTaskElements = 16384;  // least work for a separate task
constexpr int64_t kRowsInBlock = 64;      // additions to one accumulator
constexpr int kLanes = 16;                // accumulators of a contiguous sum

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How a reduction is split into tasks; depends on its sizes only.
struct Cut {
  int64_t column_blocks = 1;
  int64_t chunks = 1;
  int64_t chunk_rows = 1;
};

Cut CutOf(const Reduction& r) {
  Cut cut;
  cut.column_blocks = CeilDiv(r.inner, kColumns);
  const int64_t wanted = kTasks / (r.outer * cut.column_blocks);
  const int64_t worthwhile = r.reduced * r.inner / kTaskElements;
  cut.chunk_rows =
      CeilDiv(r.reduced, std::max<int64_t>(1, std::min(wanted, worthwhile)));
  cut.chunks = CeilDiv(r.reduced, cut.chunk_rows);
  return cut;
}

// sum = scale * x[0] + ... + x[n - 1].
template <typename X, typename Y>
void SumContiguous(const X* x, int64_t n, float scale, Y* sum) {
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kLanes * kRowsInBlock) {
    const int64_t end = std::min(begin + kLanes * kRowsInBlock, n);
    const int64_t whole = begin + (end - begin) / kLanes * kLanes;
    float lanes[kLanes] = {};
    for (int64_t i = begin; i < whole; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) {
        lanes[lane] += Load(x[i + lane]);
      }
    }
    for (const float lane : lanes) total += lane;
    for (int64_t i = whole; i < end; ++i) total += Load(x[i]);
  }
  *sum = Store<Y>(static_cast<float>(scale * total));
}

template <typename X>
struct Rows {
  const X* x = nullptr;
  int64_t rows = 0;
  int64_t stride = 0;   // elements from row to row
  int64_t columns = 0;  // at most kColumns
};

// sum[c] = scale * sum over rows of x[row, c].
template <typename X, typename Y>
void SumRows(const Rows<X>& in, float scale, Y* sum) {
  float total[kColumns];
  float block[kColumns];
  std::fill_n(total, in.columns, 0.0F);
  for (int64_t begin = 0; begin < in.rows; begin += kRowsInBlock) {
    const int64_t end = std::min(begin + kRowsInBlock, in.rows);
    std::fill_n(block, in.columns, 0.0F);
    for (int64_t row = begin; row < end; ++row) {
      const X* x = in.x + row * in.stride;
#pragma omp simd
      for (int64_t c = 0; c < in.columns; ++c) block[c] += Load(x[c]);
    }
#pragma omp simd
    for (int64_t c = 0; c < in.columns; ++c) total[c] += block[c];
  }
#pragma omp simd
  for (int64_t c = 0; c < in.columns; ++c) sum[c] = Store<Y>(scale * total[c]);
}

// The sums of each chunk.
template <typename X, typename Y>
struct ChunkSums {
  int threads = 1;
  const X* x = nullptr;
  float scale = 1;
  Y* sums = nullptr;  // [outer, chunks, inner]
};

template <typename X, typename Y>
void SumChunks(const Reduction& r, const Cut& cut, const ChunkSums<X, Y>& to) {
  const int64_t tasks = r.outer * cut.chunks * cut.column_blocks;
  const int64_t task_elements =
      std::max<int64_t>(1, cut.chunk_rows * std::min(r.inner, kColumns));
  const int64_t grain = CeilDiv(kTaskElements, task_elements);
  ParallelFor(to.threads, tasks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t column = task % cut.column_blocks * kColumns;
      const int64_t slice = task / cut.column_blocks;  // (outer, chunk)
      const int64_t row = slice % cut.chunks * cut.chunk_rows;
      const int64_t first = slice / cut.chunks * r.reduced + row;
      const int64_t rows = std::min(cut.chunk_rows, r.reduced - row);
      const X* x = to.x + first * r.inner + column;
      Y* sum = to.sums + slice * r.inner + column;
      if (r.inner == 1) {
        SumContiguous(x, rows, to.scale, sum);
      } else {
        SumRows<X, Y>({.x = x,
                       .rows = rows,
                       .stride = r.inner,
                       .columns = std::min(kColumns, r.inner - column)},
                      to.scale, sum);
      }
    }
  });
}

}  // namespace

int64_t WorkspaceBytes(const Reduction& reduction) {
  const Cut cut = CutOf(reduction);
  if (cut.chunks == 1) return 0;
  return reduction.outer * cut.chunks * reduction.inner *
         static_cast<int64_t>(sizeof(float));
}

template <typename X, typename Y>
void Reduce(const Reduction& reduction, const ReduceArgs<X, Y>& args) {
  const Cut cut = CutOf(reduction);
  if (cut.chunks == 1) {
    SumChunks<X, Y>(reduction, cut,
                    {.threads = args.threads,
                     .x = args.x,
                     .scale = args.scale,
                     .sums = args.y});
    return;
  }
  SumChunks<X, float>(
      reduction, cut,
      {.threads = args.threads, .x = args.x, .sums = args.workspace});
  const Reduction chunks = {.outer = reduction.outer,
                            .reduced = cut.chunks,
                            .inner = reduction.inner};
  const Cut whole = {.column_blocks = cut.column_blocks,
                     .chunk_rows = cut.chunks};
  SumChunks<float, Y>(chunks, whole,
                      {.threads = args.threads,
                       .x = args.workspace,
                       .scale = args.scale,
                       .sums = args.y});
}

template void Reduce(const Reduction&, const ReduceArgs<float, float>&);
template void Reduce(const Reduction&, const ReduceArgs<float, BFloat16>&);
template void Reduce(const Reduction&, const ReduceArgs<BFloat16, float>&);
template void Reduce(const Reduction&, const ReduceArgs<BFloat16, BFloat16>&);

}  // namespace spillway
