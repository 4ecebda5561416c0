#include <cstdint>

#include "ops/cpu/elementwise.h"
#include "ops/pointwise/scale_rows.h"

namespace spillway::ops {
namespace {

// For x and y stored as T, scale as S.
template <typename T, typename S>
NewKernel Scaling(const KernelRequest& node) {
  const int64_t rows = node.inputs[1].num_elements();
  const int64_t n = node.inputs[0].num_elements() / rows;
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const T* x = context.input<T>(0);
    const S* scale = context.input<S>(1);
    T* y = context.output<T>(0);
    ParallelFor(threads, rows, kElementwiseGrain / n + 1,
                [=](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    const float factor = Load(scale[row]);
                    const int64_t at = row * n;
#pragma omp simd
                    for (int64_t i = 0; i < n; ++i) {
                      y[at + i] = Store<T>(Load(x[at + i]) * factor);
                    }
                  }
                });
  });
}

}  // namespace

NewKernel ScaleRowsCpu(const KernelRequest& node) {
  return ForStorage(node.inputs[0], [&]<typename T>(T) {
    return ForStorage(node.inputs[1],
                      [&]<typename S>(S) { return Scaling<T, S>(node); });
  });
}

}  // namespace spillway::ops
