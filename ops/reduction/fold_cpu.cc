// Max, Min, Prod: elements are taken in order by one thread, so the number of
// threads changes no product.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/common/choice_functions.h"
#include "ops/cpu/elementwise.h"
#include "ops/cpu/passes_kernel.h"
#include "ops/reduction/reduce.h"

namespace spillway::ops {
namespace {

constexpr int64_t kColumns = 1024;  // per task: they stay in the cache

struct Product {
  float operator()(float a, float b) const { return a * b; }
};

// y[c] = fn over rows of x[row, c], for `columns` up to kColumns.
template <typename X, typename Y, typename Fn>
void FoldRows(const X* x, int64_t rows, int64_t stride, int64_t columns,
              const Fn& fn, Y* y) {
  float result[kColumns];
  for (int64_t c = 0; c < columns; ++c) result[c] = Load(x[c]);
  for (int64_t row = 1; row < rows; ++row) {
    const X* from = x + row * stride;
#pragma omp simd
    for (int64_t c = 0; c < columns; ++c) {
      result[c] = fn(result[c], Load(from[c]));
    }
  }
  for (int64_t c = 0; c < columns; ++c) y[c] = Store<Y>(result[c]);
}

template <typename X, typename Y, typename Fn>
void FoldPass(int threads, const Reduction& pass, const X* x, const Fn& fn,
              Y* y) {
  const int64_t blocks = (pass.inner + kColumns - 1) / kColumns;
  const int64_t elements = pass.reduced * std::min(pass.inner, kColumns);
  const int64_t grain = kElementwiseGrain / elements + 1;
  const auto fold = [=](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t outer = task / blocks;
      const int64_t column = task % blocks * kColumns;
      FoldRows(x + outer * pass.reduced * pass.inner + column, pass.reduced,
               pass.inner, std::min(kColumns, pass.inner - column), fn,
               y + outer * pass.inner + column);
    }
  };
  ParallelFor(threads, pass.outer * blocks, grain, fold);
}

template <typename Fn>
NewKernel NewFold(const KernelRequest& node, Fn fn) {
  const Shape& x = node.inputs[0].shape;
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<bool> is_reduced,
                            ReducedAxes(node.attributes, x));
  const auto run = [fn, threads = node.threads](
                       const Reduction& pass, bool /*is_last*/,
                       const auto* from, void* /*scratch*/,
                       auto* to) { FoldPass(threads, pass, from, fn, to); };
  return ForStorage(node.inputs[0], [&]<typename T>(T) -> NewKernel {
    return std::make_unique<PassesKernel<T, decltype(run)>>(
        PassesOver(is_reduced, x), x.num_elements(), 0, run);
  });
}

}  // namespace

NewKernel MaxCpu(const KernelRequest& node) {
  return NewFold(node, choice::Larger());
}

NewKernel MinCpu(const KernelRequest& node) {
  return NewFold(node, choice::Smaller());
}

NewKernel ProdCpu(const KernelRequest& node) {
  return NewFold(node, Product());
}

}  // namespace spillway::ops
