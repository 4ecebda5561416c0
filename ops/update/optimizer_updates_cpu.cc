#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/status_macros.h"
#include "ops/cpu/square_sum.h"
#include "ops/cpu/update_kernel.h"
#include "ops/update/optimizer_updates.h"

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

NewKernel ApplyMomentumCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const MomentumRule rule,
                            ReadMomentumRule(node.attributes));
  return UpdateKernel(node, [=](const GroupMemory& group) {
    const float momentum = rule.momentum;
    return [=, gradient_rule = rule.gradient, rate = group.learning_rate(),
            gradient = group.gradient(), variable = group.variable(),
            accumulator = group.slot(0),
            of_gradient = rule.use_nesterov ? 1.0F : 0.0F,
            of_accumulator = rule.use_nesterov ? momentum : 1.0F](int64_t begin,
                                                                  int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g = gradient_rule.scale * gradient[i] +
                        gradient_rule.weight_decay * variable[i];
        const float a = momentum * accumulator[i] + g;
        accumulator[i] = a;
        variable[i] -= rate * (of_gradient * g + of_accumulator * a);
      }
    };
  });
}

namespace {

// Updates the elements of a group by `rule`, at the given learning rate.
auto VelocityUpdate(const VelocityRule& rule, const GroupMemory& group,
                    float rate) {
  return [gradient_rule = rule.gradient, momentum = rule.momentum,
          of_old = rule.of_old(), of_new = rule.of_new(), rate,
          gradient = group.gradient(), variable = group.variable(),
          velocity = group.slot(0)](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const float g = gradient_rule.scale * gradient[i] +
                      gradient_rule.weight_decay * variable[i];
      const float old = velocity[i];
      const float v = momentum * old - rate * g;
      velocity[i] = v;
      variable[i] += of_old * old + of_new * v;
    }
  };
}

double LbsgdRatio(double variable_squares, double gradient_squares,
                  double decay) {
  const double ratio =
      std::sqrt(variable_squares /
                (gradient_squares + decay * variable_squares + kLbsgdEpsilon));
  return std::clamp(ratio, kLeastLbsgdRatio, kMostLbsgdRatio);
}

double CorrectedLarsRatio(const LarsRule& rule, double variable_squares,
                          double gradient_squares) {
  if (variable_squares == 0 || gradient_squares == 0) return 1;
  const double norm = std::sqrt(variable_squares);
  const double decay = rule.velocity.gradient.weight_decay;
  return rule.eta * norm /
         (std::sqrt(gradient_squares) + decay * norm + rule.epsilon);
}

// What the learning rate is multiplied by.
double LarsRatio(const LarsRule& rule, const GroupMemory& group, int threads) {
  const double scale = rule.velocity.gradient.scale;
  const double variable_squares =
      spillway::SquareSum(threads, group.variable(), group.elements());
  const double gradient_squares =
      scale * scale *
      spillway::SquareSum(threads, group.gradient(), group.elements());
  return rule.is_lbsgd
             ? LbsgdRatio(variable_squares, gradient_squares,
                          rule.velocity.gradient.weight_decay)
             : CorrectedLarsRatio(rule, variable_squares, gradient_squares);
}

}  // namespace

NewKernel ApplyVelocityCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const VelocityRule rule,
                            ReadVelocityRule(node.attributes));
  return UpdateKernel(node, [=](const GroupMemory& group) {
    return VelocityUpdate(rule, group, group.learning_rate());
  });
}

NewKernel ApplyLarsCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const LarsRule rule, ReadLarsRule(node.attributes));
  return UpdateKernel(node, [=,
                             threads = node.threads](const GroupMemory& group) {
    const double ratio = LarsRatio(rule, group, threads);
    return VelocityUpdate(rule.velocity, group,
                          static_cast<float>(group.learning_rate() * ratio));
  });
}

NewKernel ApplyAdagradCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const AdagradRule rule,
                            ReadAdagradRule(node.attributes));
  return UpdateKernel(node, [=](const GroupMemory& group) {
    return [gradient_rule = rule.gradient, epsilon = rule.epsilon,
            rate = group.learning_rate(), gradient = group.gradient(),
            variable = group.variable(),
            accumulator = group.slot(0)](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g = gradient_rule.scale * gradient[i] +
                        gradient_rule.weight_decay * variable[i];
        const float c = accumulator[i] + g * g;
        accumulator[i] = c;
        variable[i] -= rate * g / (std::sqrt(c) + epsilon);
      }
    };
  });
}

namespace {

// Advances both powers and returns the corrected learning rate.
float CorrectedRate(const AdamRule& rule, float learning_rate,
                    float* beta_power) {
  beta_power[0] *= rule.beta1;
  beta_power[1] *= rule.beta2;
  return learning_rate * std::sqrt(1 - beta_power[1]) / (1 - beta_power[0]);
}

}  // namespace

NewKernel ApplyAdamCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const AdamRule rule, ReadAdamRule(node.attributes));
  return UpdateKernel(node, [=](const GroupMemory& group) {
    return [gradient_rule = rule.gradient, beta1 = rule.beta1,
            beta2 = rule.beta2, epsilon = rule.epsilon,
            kept = 1 - group.learning_rate() * rule.decoupled_weight_decay,
            rate = CorrectedRate(rule, group.learning_rate(), group.slot(2)),
            gradient = group.gradient(), variable = group.variable(),
            first = group.slot(0),
            second = group.slot(1)](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g = gradient_rule.scale * gradient[i] +
                        gradient_rule.weight_decay * variable[i];
        const float m = beta1 * first[i] + (1 - beta1) * g;
        const float v = beta2 * second[i] + (1 - beta2) * g * g;
        first[i] = m;
        second[i] = v;
        variable[i] = kept * variable[i] - rate * m / (std::sqrt(v) + epsilon);
      }
    };
  });
}

NewKernel ApplyRMSPropCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const RmsPropRule rule,
                            ReadRmsPropRule(node.attributes));
  return UpdateKernel(node, [=](const GroupMemory& group) {
    return [gradient_rule = rule.gradient, decay = rule.decay,
            momentum = rule.momentum, epsilon = rule.epsilon,
            rate = group.learning_rate(), gradient = group.gradient(),
            variable = group.variable(), mean_square = group.slot(0),
            accumulator = group.slot(1)](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g = gradient_rule.scale * gradient[i] +
                        gradient_rule.weight_decay * variable[i];
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
