#include <cstdint>

#include "ops/cpu/elementwise.h"
#include "ops/scale_rows.h"

namespace spillway::ops {

NewKernel ScaleRowsCpu(const KernelRequest& node) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  const int64_t rows = node.inputs[1].num_elements();
  const int64_t n = node.inputs[0].num_elements() / rows;
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const float* x = context.input<float>(0);
    const float* scale = context.input<float>(1);
    float* y = context.output<float>(0);
    ParallelFor(threads, rows, kElementwiseGrain / n + 1,
                [=](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    const float factor = scale[row];
                    const int64_t at = row * n;
#pragma omp simd
                    for (int64_t i = 0; i < n; ++i) {
                      y[at + i] = x[at + i] * factor;
                    }
                  }
                });
  });
}

}  // namespace spillway::ops
