#include <cstdint>

#include "base/status_macros.h"
#include "ops/cpu/elementwise.h"
#include "ops/gradient_descent_update.h"

namespace spillway::ops {

NewKernel ApplyGradientDescentCpu(const KernelRequest& node) {
  ASSIGN_OR_RETURN(const double decay,
                   node.attributes.GetReal("weight_decay", 0));
  const int64_t n = node.inputs[0].num_elements();
  return MakeKernel([=, weight_decay = static_cast<float>(decay),
                     threads = node.threads](const KernelContext& context) {
    float* variable = context.mutable_input<float>(0);
    const float* gradient = context.input<float>(1);
    const float rate = *context.input<float>(2);
    ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g = gradient[i] + weight_decay * variable[i];
        variable[i] -= rate * g;
      }
    });
  });
}

}  // namespace spillway::ops
