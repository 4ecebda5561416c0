// Kernels that compute each output element from the input elements at the same
// index, in float32 or bfloat16 (ops/cpu/storage.h). In-place safe: an output
// may be any of the inputs.
#ifndef SPILLWAY_OPS_CPU_ELEMENTWISE_H_
#define SPILLWAY_OPS_CPU_ELEMENTWISE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ops/common/function_kernel.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/storage.h"
#include "ops/op.h"

namespace spillway {

// Elements that are worth a separate thread.
inline constexpr int64_t kElementwiseGrain = 16384;

// Copies `num_bytes` bytes.
inline void CopyBytes(int threads, int64_t num_bytes, const void* from,
                      void* to) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  ParallelFor(threads, num_bytes, 4 * kElementwiseGrain,
              [=](int64_t begin, int64_t end) {
                std::memcpy(target + begin, source + begin,
                            static_cast<size_t>(end - begin));
              });
}

// A BinaryKernel whose inputs may be parts of wider rows.
template <typename T, typename Fn>
NewKernel BinaryRowsKernel(const KernelRequest& node, Fn fn) {
  const int64_t channels = node.outputs[0].shape.dim(-1);
  const int64_t rows = node.outputs[0].num_elements() / channels;
  const int64_t a_stride = node.row_stride(0);
  const int64_t b_stride = node.row_stride(1);
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    ParallelFor(threads, rows, kElementwiseGrain / channels + 1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) {
                    const T* a = context.input<T>(0) + row * a_stride;
                    const T* b = context.input<T>(1) + row * b_stride;
                    T* y = context.output<T>(0) + row * channels;
#pragma omp simd
                    for (int64_t c = 0; c < channels; ++c) {
                      y[c] = Store<T>(fn(Load(a[c]), Load(b[c])));
                    }
                  }
                });
  });
}

// UnaryKernel and BinaryKernel for tensors stored as T.
template <typename T, typename Fn>
NewKernel UnaryKernelOf(const KernelRequest& node, Fn fn) {
  const int64_t n = node.outputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const T* x = context.input<T>(0);
    T* y = context.output<T>(0);
    ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) y[i] = Store<T>(fn(Load(x[i])));
    });
  });
}

template <typename T, typename Fn>
NewKernel BinaryKernelOf(const KernelRequest& node, Fn fn) {
  if (!node.row_strides.empty()) return BinaryRowsKernel<T>(node, fn);
  const int64_t n = node.outputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const T* a = context.input<T>(0);
    const T* b = context.input<T>(1);
    T* y = context.output<T>(0);
    ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        y[i] = Store<T>(fn(Load(a[i]), Load(b[i])));
      }
    });
  });
}

// y = fn(x).
template <typename Fn>
NewKernel UnaryKernel(const KernelRequest& node, Fn fn) {
  return ForStorage(node.inputs[0],
                    [&]<typename T>(T) { return UnaryKernelOf<T>(node, fn); });
}

// y = fn(a, b), all of one type. a and b may be parts (graph/parts.h).
template <typename Fn>
NewKernel BinaryKernel(const KernelRequest& node, Fn fn) {
  return ForStorage(node.inputs[0],
                    [&]<typename T>(T) { return BinaryKernelOf<T>(node, fn); });
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_ELEMENTWISE_H_
