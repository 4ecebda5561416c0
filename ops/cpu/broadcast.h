// Kernels of y = fn(a, b) where b may be a scalar or a vector over a's last
// dimension, or both are repeated in any way (strided_map.h).
#ifndef SPILLWAY_OPS_CPU_BROADCAST_H_
#define SPILLWAY_OPS_CPU_BROADCAST_H_

#include <cstdint>

#include "ops/cpu/elementwise.h"
#include "ops/cpu/strided_map.h"

namespace spillway {

// For a and b stored as T.
template <typename T, typename Fn>
NewKernel ScalarKernelOf(const KernelRequest& node, Fn fn) {
  const int64_t n = node.outputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const T* a = context.input<T>(0);
    const float b = Load(*context.input<T>(1));
    T* y = context.output<T>(0);
    ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) y[i] = Store<T>(fn(Load(a[i]), b));
    });
  });
}

// For b with one element.
template <typename Fn>
NewKernel ScalarKernel(const KernelRequest& node, Fn fn) {
  return ForStorage(node.inputs[0],
                    [&]<typename T>(T) { return ScalarKernelOf<T>(node, fn); });
}

// a: [rows, channels]. b: [channels], stored as B.
template <typename T, typename B, typename Fn>
NewKernel ChannelKernelOf(const KernelRequest& node, Fn fn) {
  const int64_t channels = node.inputs[1].num_elements();
  const int64_t rows = node.outputs[0].num_elements() / channels;
  const int64_t grain = kElementwiseGrain / channels + 1;
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const T* a = context.input<T>(0);
    const B* b = context.input<B>(1);
    T* y = context.output<T>(0);
    ParallelFor(threads, rows, grain, [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* a_row = a + row * channels;
        T* y_row = y + row * channels;
#pragma omp simd
        for (int64_t c = 0; c < channels; ++c) {
          y_row[c] = Store<T>(fn(Load(a_row[c]), Load(b[c])));
        }
      }
    });
  });
}

// For a vector b [C], where C is the last dimension of a; b has a's dtype or
// another.
template <typename Fn>
NewKernel ChannelKernel(const KernelRequest& node, Fn fn) {
  return ForStorage(node.inputs[0], [&]<typename T>(T) {
    return ForStorage(node.inputs[1], [&]<typename B>(B) {
      return ChannelKernelOf<T, B>(node, fn);
    });
  });
}

// Chooses a kernel by the operands' shapes.
template <typename Fn>
NewKernel BroadcastKernel(const KernelRequest& node, Fn fn) {
  const Shape& a = node.inputs[0].shape;
  const Shape& b = node.inputs[1].shape;
  if (a == b) return BinaryKernel(node, fn);
  if (b.rank() == 0) return ScalarKernel(node, fn);
  if (b.rank() == 1 && a.rank() > 0 && b.dim(0) == a.dim(-1)) {
    return ChannelKernel(node, fn);
  }
  return StridedBinaryKernel(node, fn);
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_BROADCAST_H_
