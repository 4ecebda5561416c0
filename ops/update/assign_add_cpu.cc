#include <cstdint>

#include "ops/cpu/elementwise.h"
#include "ops/update/assign_add.h"

namespace spillway::ops {

NewKernel AssignAddCpu(const KernelRequest& node) {
  const int64_t n = node.inputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    float* variable = context.mutable_input<float>(0);
    const float* x = context.input<float>(1);
    ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) variable[i] += x[i];
    });
  });
}

}  // namespace spillway::ops
