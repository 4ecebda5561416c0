#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ops/cpu/elementwise.h"
#include "ops/softmax.h"

namespace spillway::ops {
namespace {

void SoftmaxRow(const float* x, int64_t n, float* y) {
  const float most = *std::max_element(x, x + n);
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) {
    y[c] = std::exp(x[c] - most);
    sum += y[c];
  }
  const auto scale = static_cast<float>(1 / sum);
  for (int64_t c = 0; c < n; ++c) y[c] *= scale;
}

void SoftmaxGradRow(const float* dy, const float* y, int64_t n, float* dx) {
  double dot = 0;
  for (int64_t c = 0; c < n; ++c) dot += double{dy[c]} * y[c];
  const auto mean = static_cast<float>(dot);
#pragma omp simd
  for (int64_t c = 0; c < n; ++c) dx[c] = (dy[c] - mean) * y[c];
}

}  // namespace

NewKernel SoftmaxCpu(const KernelRequest& node) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  const int64_t n = node.inputs[0].shape.dim(-1);
  const int64_t rows = node.inputs[0].num_elements() / n;
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const float* x = context.input<float>(0);
    float* y = context.output<float>(0);
    ParallelFor(threads, rows, kElementwiseGrain / (8 * n) + 1,
                [=](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    SoftmaxRow(x + row * n, n, y + row * n);
                  }
                });
  });
}

NewKernel SoftmaxGradCpu(const KernelRequest& node) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  const int64_t n = node.inputs[0].shape.dim(-1);
  const int64_t rows = node.inputs[0].num_elements() / n;
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const float* dy = context.input<float>(0);
    const float* y = context.input<float>(1);
    float* dx = context.output<float>(0);
    ParallelFor(threads, rows, kElementwiseGrain / n + 1,
                [=](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    const int64_t at = row * n;
                    SoftmaxGradRow(dy + at, y + at, n, dx + at);
                  }
                });
  });
}

}  // namespace spillway::ops
