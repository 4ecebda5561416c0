// Kernels that compute each output element from the input elements at the same
// place. In-place safe: an output may be any of the inputs.
#ifndef SPILLWAY_OPS_CPU_ELEMENTWISE_H_
#define SPILLWAY_OPS_CPU_ELEMENTWISE_H_

#include <cstdint>

#include "base/status_macros.h"
#include "ops/cpu/expect_float32.h"
#include "ops/cpu/function_kernel.h"
#include "ops/cpu/parallel.h"
#include "ops/op.h"

namespace spillway {

// Elements worth a thread of their own.
inline constexpr int64_t kElementwiseGrain = 16384;

// y = fn(x), float32.
template <typename Fn>
NewKernel UnaryKernel(const KernelRequest& node, Fn fn) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  const int64_t n = node.outputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const float* x = context.input<float>(0);
    float* y = context.output<float>(0);
    ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) y[i] = fn(x[i]);
    });
  });
}

// y = fn(a, b), float32, equal shapes.
template <typename Fn>
NewKernel BinaryKernel(const KernelRequest& node, Fn fn) {
  RETURN_IF_ERROR(ExpectFloat32Kernel(node));
  const int64_t n = node.outputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const float* a = context.input<float>(0);
    const float* b = context.input<float>(1);
    float* y = context.output<float>(0);
    ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) y[i] = fn(a[i], b[i]);
    });
  });
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_CPU_ELEMENTWISE_H_
