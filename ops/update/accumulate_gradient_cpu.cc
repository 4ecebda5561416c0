#include <cstdint>

#include "ops/cpu/update_kernel.h"
#include "ops/update/accumulate_gradient.h"

namespace spillway::ops {

NewKernel AccumulateGradientCpu(const KernelRequest& node) {
  return UpdateKernel(node, [](const GroupMemory& group) {
    return [of_sum = group.shared()[0], of_gradient = group.shared()[1],
            sum = group.variable(),
            gradient = group.gradient()](int64_t begin, int64_t end) {
      if (of_sum == 0) {
#pragma omp simd
        for (int64_t i = begin; i < end; ++i) {
          sum[i] = of_gradient * gradient[i];
        }
        return;
      }
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        sum[i] = of_sum * sum[i] + of_gradient * gradient[i];
      }
    };
  });
}

}  // namespace spillway::ops
