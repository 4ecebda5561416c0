#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "ops/cpu/elementwise.h"
#include "ops/normalization/softmax.h"

namespace spillway::ops {
namespace {

// `exponentials` has space for n floats. x may be y.
template <typename T>
void SoftmaxRow(const T* x, int64_t n, float* exponentials, T* y) {
  float most = Load(x[0]);
  for (int64_t c = 1; c < n; ++c) most = std::max(most, Load(x[c]));
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) {
    exponentials[c] = std::exp(Load(x[c]) - most);
    sum += exponentials[c];
  }
  const auto scale = static_cast<float>(1 / sum);
  for (int64_t c = 0; c < n; ++c) y[c] = Store<T>(exponentials[c] * scale);
}

template <typename T>
void SoftmaxGradRow(const T* dy, const T* y, int64_t n, T* dx) {
  double dot = 0;
  for (int64_t c = 0; c < n; ++c) dot += double{Load(dy[c])} * Load(y[c]);
  const auto mean = static_cast<float>(dot);
#pragma omp simd
  for (int64_t c = 0; c < n; ++c) {
    dx[c] = Store<T>((Load(dy[c]) - mean) * Load(y[c]));
  }
}

template <typename T>
NewKernel SoftmaxOf(const KernelRequest& node) {
  const int64_t n = node.inputs[0].shape.dim(-1);
  const int64_t rows = node.inputs[0].num_elements() / n;
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const T* x = context.input<T>(0);
    T* y = context.output<T>(0);
    ParallelFor(threads, rows, kElementwiseGrain / (8 * n) + 1,
                [=](int64_t begin, int64_t end) {
                  std::vector<float> row(static_cast<size_t>(n));
                  for (int64_t i = begin; i < end; ++i) {
                    SoftmaxRow(x + i * n, n, row.data(), y + i * n);
                  }
                });
  });
}

template <typename T>
NewKernel SoftmaxGradOf(const KernelRequest& node) {
  const int64_t n = node.inputs[0].shape.dim(-1);
  const int64_t rows = node.inputs[0].num_elements() / n;
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const T* dy = context.input<T>(0);
    const T* y = context.input<T>(1);
    T* dx = context.output<T>(0);
    ParallelFor(threads, rows, kElementwiseGrain / n + 1,
                [=](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    const int64_t at = row * n;
                    SoftmaxGradRow(dy + at, y + at, n, dx + at);
                  }
                });
  });
}

}  // namespace

NewKernel SoftmaxCpu(const KernelRequest& node) {
  return ForStorage(node.inputs[0],
                    [&]<typename T>(T) { return SoftmaxOf<T>(node); });
}

NewKernel SoftmaxGradCpu(const KernelRequest& node) {
  return ForStorage(node.inputs[0],
                    [&]<typename T>(T) { return SoftmaxGradOf<T>(node); });
}

}  // namespace spillway::ops
