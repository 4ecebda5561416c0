#include <cmath>
#include <cstdint>

#include "base/status_macros.h"
#include "ops/adam_update.h"
#include "ops/cpu/update_kernel.h"

namespace spillway::ops {
namespace {

struct Options {
  GradientRule gradient = {};
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
};

absl::StatusOr<Options> ReadOptions(const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const double beta1,
                            attributes.GetReal("beta1", 0.9));
  SPILLWAY_ASSIGN_OR_RETURN(const double beta2,
                            attributes.GetReal("beta2", 0.999));
  SPILLWAY_ASSIGN_OR_RETURN(const double epsilon,
                            attributes.GetReal("epsilon", 1e-8));
  SPILLWAY_ASSIGN_OR_RETURN(const GradientRule rule,
                            ReadGradientRule(attributes));
  return Options{.gradient = rule,
                 .beta1 = static_cast<float>(beta1),
                 .beta2 = static_cast<float>(beta2),
                 .epsilon = static_cast<float>(epsilon)};
}

// Advances both powers and returns the corrected learning rate.
float CorrectedRate(const Options& options, float learning_rate,
                    float* beta_power) {
  beta_power[0] *= options.beta1;
  beta_power[1] *= options.beta2;
  return learning_rate * std::sqrt(1 - beta_power[1]) / (1 - beta_power[0]);
}

}  // namespace

NewKernel ApplyAdamCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const Options options,
                            ReadOptions(node.attributes));
  return UpdateKernel(node, [=](const GroupMemory& group) {
    return [rule = options.gradient, beta1 = options.beta1,
            beta2 = options.beta2, epsilon = options.epsilon,
            rate = CorrectedRate(options, group.learning_rate(), group.slot(2)),
            gradient = group.gradient(), variable = group.variable(),
            first = group.slot(0),
            second = group.slot(1)](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g =
            rule.scale * gradient[i] + rule.weight_decay * variable[i];
        const float m = beta1 * first[i] + (1 - beta1) * g;
        const float v = beta2 * second[i] + (1 - beta2) * g * g;
        first[i] = m;
        second[i] = v;
        variable[i] -= rate * m / (std::sqrt(v) + epsilon);
      }
    };
  });
}

}  // namespace spillway::ops
