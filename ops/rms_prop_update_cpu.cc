#include <cmath>
#include <cstdint>

#include "base/status_macros.h"
#include "ops/cpu/update_kernel.h"
#include "ops/rms_prop_update.h"

namespace spillway::ops {
namespace {

struct Options {
  GradientRule gradient = {};
  float decay = 0;
  float momentum = 0;
  float epsilon = 0;
};

absl::StatusOr<Options> ReadOptions(const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const double decay,
                            attributes.GetReal("decay", 0.9));
  SPILLWAY_ASSIGN_OR_RETURN(const double momentum,
                            attributes.GetReal("momentum", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const double epsilon,
                            attributes.GetReal("epsilon", 1e-10));
  SPILLWAY_ASSIGN_OR_RETURN(const GradientRule rule,
                            ReadGradientRule(attributes));
  return Options{.gradient = rule,
                 .decay = static_cast<float>(decay),
                 .momentum = static_cast<float>(momentum),
                 .epsilon = static_cast<float>(epsilon)};
}

}  // namespace

NewKernel ApplyRMSPropCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const Options options,
                            ReadOptions(node.attributes));
  return UpdateKernel(node, [=](const GroupMemory& group) {
    return [rule = options.gradient, decay = options.decay,
            momentum = options.momentum, epsilon = options.epsilon,
            rate = group.learning_rate(), gradient = group.gradient(),
            variable = group.variable(), mean_square = group.slot(0),
            accumulator = group.slot(1)](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g =
            rule.scale * gradient[i] + rule.weight_decay * variable[i];
        const float s = decay * mean_square[i] + (1 - decay) * g * g;
        const float a =
            momentum * accumulator[i] + rate * g / std::sqrt(s + epsilon);
        mean_square[i] = s;
        accumulator[i] = a;
        variable[i] -= a;
      }
    };
  });
}

}  // namespace spillway::ops
