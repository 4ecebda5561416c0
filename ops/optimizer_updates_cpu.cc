#include <cmath>
#include <cstdint>

#include "base/status_macros.h"
#include "ops/cpu/update_kernel.h"
#include "ops/optimizer_updates.h"

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

namespace {

struct MomentumOptions {
  GradientRule gradient = {};
  float momentum = 0;
  bool use_nesterov = false;
};

absl::StatusOr<MomentumOptions> ReadMomentumOptions(
    const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const GradientRule rule,
                            ReadGradientRule(attributes));
  SPILLWAY_ASSIGN_OR_RETURN(const double momentum,
                            attributes.GetReal("momentum", 0.9));
  SPILLWAY_ASSIGN_OR_RETURN(const bool nesterov,
                            attributes.GetBool("use_nesterov", false));
  return MomentumOptions{.gradient = rule,
                         .momentum = static_cast<float>(momentum),
                         .use_nesterov = nesterov};
}

}  // namespace

NewKernel ApplyMomentumCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const MomentumOptions options,
                            ReadMomentumOptions(node.attributes));
  return UpdateKernel(node, [=](const GroupMemory& group) {
    const float momentum = options.momentum;
    return [=, rule = options.gradient, rate = group.learning_rate(),
            gradient = group.gradient(), variable = group.variable(),
            accumulator = group.slot(0),
            of_gradient = options.use_nesterov ? 1.0F : 0.0F,
            of_accumulator = options.use_nesterov ? momentum : 1.0F](
               int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g =
            rule.scale * gradient[i] + rule.weight_decay * variable[i];
        const float a = momentum * accumulator[i] + g;
        accumulator[i] = a;
        variable[i] -= rate * (of_gradient * g + of_accumulator * a);
      }
    };
  });
}

namespace {

struct AdamOptions {
  GradientRule gradient = {};
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
};

absl::StatusOr<AdamOptions> ReadAdamOptions(const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const double beta1,
                            attributes.GetReal("beta1", 0.9));
  SPILLWAY_ASSIGN_OR_RETURN(const double beta2,
                            attributes.GetReal("beta2", 0.999));
  SPILLWAY_ASSIGN_OR_RETURN(const double epsilon,
                            attributes.GetReal("epsilon", 1e-8));
  SPILLWAY_ASSIGN_OR_RETURN(const GradientRule rule,
                            ReadGradientRule(attributes));
  return AdamOptions{.gradient = rule,
                     .beta1 = static_cast<float>(beta1),
                     .beta2 = static_cast<float>(beta2),
                     .epsilon = static_cast<float>(epsilon)};
}

// Advances both powers and returns the corrected learning rate.
float CorrectedRate(const AdamOptions& options, float learning_rate,
                    float* beta_power) {
  beta_power[0] *= options.beta1;
  beta_power[1] *= options.beta2;
  return learning_rate * std::sqrt(1 - beta_power[1]) / (1 - beta_power[0]);
}

}  // namespace

NewKernel ApplyAdamCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const AdamOptions options,
                            ReadAdamOptions(node.attributes));
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

namespace {

struct RmsPropOptions {
  GradientRule gradient = {};
  float decay = 0;
  float momentum = 0;
  float epsilon = 0;
};

absl::StatusOr<RmsPropOptions> ReadRmsPropOptions(
    const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const double decay,
                            attributes.GetReal("decay", 0.9));
  SPILLWAY_ASSIGN_OR_RETURN(const double momentum,
                            attributes.GetReal("momentum", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const double epsilon,
                            attributes.GetReal("epsilon", 1e-10));
  SPILLWAY_ASSIGN_OR_RETURN(const GradientRule rule,
                            ReadGradientRule(attributes));
  return RmsPropOptions{.gradient = rule,
                        .decay = static_cast<float>(decay),
                        .momentum = static_cast<float>(momentum),
                        .epsilon = static_cast<float>(epsilon)};
}

}  // namespace

NewKernel ApplyRMSPropCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const RmsPropOptions options,
                            ReadRmsPropOptions(node.attributes));
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
