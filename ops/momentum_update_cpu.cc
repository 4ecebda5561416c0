#include <cstdint>

#include "base/status_macros.h"
#include "ops/cpu/update_kernel.h"
#include "ops/momentum_update.h"

namespace spillway::ops {
namespace {

struct Options {
  GradientRule gradient = {};
  float momentum = 0;
  bool use_nesterov = false;
};

absl::StatusOr<Options> ReadOptions(const Attributes& attributes) {
  SPILLWAY_ASSIGN_OR_RETURN(const GradientRule rule,
                            ReadGradientRule(attributes));
  SPILLWAY_ASSIGN_OR_RETURN(const double momentum,
                            attributes.GetReal("momentum", 0.9));
  SPILLWAY_ASSIGN_OR_RETURN(const bool nesterov,
                            attributes.GetBool("use_nesterov", false));
  return Options{.gradient = rule,
                 .momentum = static_cast<float>(momentum),
                 .use_nesterov = nesterov};
}

}  // namespace

NewKernel ApplyMomentumCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const Options options,
                            ReadOptions(node.attributes));
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

}  // namespace spillway::ops
