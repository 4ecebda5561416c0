#include <cstdint>

#include "base/status_macros.h"
#include "ops/cpu/update_kernel.h"
#include "ops/gradient_descent_update.h"

namespace spillway::ops {

NewKernel ApplyGradientDescentCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const GradientRule rule,
                            ReadGradientRule(node.attributes));
  return UpdateKernel(node, [=](const GroupMemory& group) {
    return [rule, variable = group.variable(), gradient = group.gradient(),
            rate = group.learning_rate()](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g =
            rule.scale * gradient[i] + rule.weight_decay * variable[i];
        variable[i] -= rate * g;
      }
    };
  });
}

}  // namespace spillway::ops
