// Rows of contiguous elements are shared by the threads of a warp or a block;
// otherwise a thread has a column, so that adjacent threads read adjacent
// elements.
#include "ops/common/choice_functions.h"
#include "ops/gpu/kernel/fold.h"
#include "ops/gpu/thread/divide.cuh"
#include "ops/gpu/thread/reduce.cuh"
#include "ops/gpu/thread/storage.cuh"

namespace spillway::gpu {
namespace {

constexpr int64_t kMostOfWarp = 1024;  // elements of a row

struct Times {
  __device__ float operator()(float a, float b) const { return a * b; }
};

// `neutral` changes nothing.
template <typename Group, typename X, typename Y, typename Fn>
__global__ void FoldRowsKernel(Fn fn, float neutral, int64_t rows,
                               int64_t columns, const X* x, Y* y) {
  ForEachRow<Group>(rows, [&](int64_t row) {
    float mine = neutral;
    for (int64_t i = threadIdx.x % Group::kSize; i < columns;
         i += Group::kSize) {
      mine = fn(mine, Load(x[row * columns + i]));
    }
    mine = Group::Reduce(mine, fn);
    if (threadIdx.x % Group::kSize == 0) y[row] = Store<Y>(mine);
  });
}

template <typename X, typename Y, typename Fn>
__global__ void FoldColumnsKernel(Fn fn, Fold fold, const X* x, Y* y) {
  ForEachItem(fold.outer * fold.inner, [&](int64_t i) {
    const int64_t outer = Divide(i, fold.inner);
    const X* from = x + outer * fold.reduced * fold.inner;
    from += i - outer * fold.inner;
    float result = Load(*from);
    for (int64_t r = 1; r < fold.reduced; ++r) {
      result = fn(result, Load(from[r * fold.inner]));
    }
    y[i] = Store<Y>(result);
  });
}

template <typename X, typename Y, typename Fn>
LaunchError LaunchFold(StreamHandle stream, Fn fn, float neutral,
                       const Fold& fold, const X* x, Y* y) {
  if (fold.inner > 1) {
    return Launch(stream, FoldColumnsKernel<X, Y, Fn>,
                  dim3(BlocksFor(fold.outer * fold.inner)), dim3(kThreads), fn,
                  fold, x, y);
  }
  const bool is_short = fold.reduced <= kMostOfWarp;
  const auto kernel = is_short ? FoldRowsKernel<WarpOfRow, X, Y, Fn>
                               : FoldRowsKernel<BlockOfRow, X, Y, Fn>;
  const int64_t threads =
      fold.outer * (is_short ? WarpOfRow::kSize : BlockOfRow::kSize);
  return Launch(stream, kernel, dim3(BlocksFor(threads)), dim3(kThreads), fn,
                neutral, fold.outer, fold.reduced, x, y);
}

template <typename Fn>
LaunchError LaunchFoldOf(StreamHandle stream, Fn fn, float neutral,
                         const Fold& fold, const void* x, void* y) {
  return ForTwoStorages(
      fold.x_dtype, fold.y_dtype, [&]<typename X, typename Y>(X, Y) {
        return LaunchFold(stream, fn, neutral, fold, static_cast<const X*>(x),
                          static_cast<Y*>(y));
      });
}

}  // namespace

LaunchError RunFold(StreamHandle stream, const Fold& fold, const void* x,
                    void* y) {
  switch (fold.function) {
    case FoldFunction::kMax:
      return LaunchFoldOf(stream, choice::Larger(), -INFINITY, fold, x, y);
    case FoldFunction::kMin:
      return LaunchFoldOf(stream, choice::Smaller(), INFINITY, fold, x, y);
    case FoldFunction::kProd:
      return LaunchFoldOf(stream, Times(), 1, fold, x, y);
  }
  return 0;
}

}  // namespace spillway::gpu
