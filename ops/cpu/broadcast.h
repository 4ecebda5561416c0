// Kernels of y = fn(a, b) where b may be a scalar or a vector over a's last
// dimension.
#ifndef SPILLWAY_OPS_CPU_BROADCAST_H_
#define SPILLWAY_OPS_CPU_BROADCAST_H_

#include <cstdint>

#include "base/status_macros.h"
#include "ops/cpu/elementwise.h"

namespace spillway {

// b is one element.
template <typename Fn>
NewKernel ScalarKernel(const KernelRequest& node, Fn fn) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  const int64_t n = node.outputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const float* a = context.input<float>(0);
    const float b = *context.input<float>(1);
    float* y = context.output<float>(0);
    ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) y[i] = fn(a[i], b);
    });
  });
}

// b is a vector [C], C the last dimension of a.
template <typename Fn>
NewKernel ChannelKernel(const KernelRequest& node, Fn fn) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  const int64_t channels = node.inputs[1].num_elements();
  const int64_t rows = node.outputs[0].num_elements() / channels;
  const int64_t grain = kElementwiseGrain / channels + 1;
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const float* a = context.input<float>(0);
    const float* b = context.input<float>(1);
    float* y = context.output<float>(0);
    ParallelFor(threads, rows, grain, [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const float* a_row = a + row * channels;
        float* y_row = y + row * channels;
#pragma omp simd
        for (int64_t c = 0; c < channels; ++c) y_row[c] = fn(a_row[c], b[c]);
      }
    });
  });
}

// Whichever of the three b's shape asks for.
template <typename Fn>
NewKernel BroadcastKernel(const KernelRequest& node, Fn fn) {
  if (node.inputs[1].shape == node.inputs[0].shape) {
    return BinaryKernel(node, fn);
  }
  if (node.inputs[1].shape.rank() == 0) return ScalarKernel(node, fn);
  return ChannelKernel(node, fn);
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_BROADCAST_H_
