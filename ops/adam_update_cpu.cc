#include <cmath>
#include <cstdint>

#include "base/status_macros.h"
#include "ops/adam_update.h"
#include "ops/cpu/elementwise.h"

namespace spillway::ops {
namespace {

struct Options {
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
  float weight_decay = 0;
};

absl::StatusOr<Options> ReadOptions(const Attributes& attributes) {
  ASSIGN_OR_RETURN(const double beta1, attributes.GetReal("beta1", 0.9));
  ASSIGN_OR_RETURN(const double beta2, attributes.GetReal("beta2", 0.999));
  ASSIGN_OR_RETURN(const double epsilon, attributes.GetReal("epsilon", 1e-8));
  ASSIGN_OR_RETURN(const double decay, attributes.GetReal("weight_decay", 0));
  return Options{.beta1 = static_cast<float>(beta1),
                 .beta2 = static_cast<float>(beta2),
                 .epsilon = static_cast<float>(epsilon),
                 .weight_decay = static_cast<float>(decay)};
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
  ASSIGN_OR_RETURN(const Options options, ReadOptions(node.attributes));
  const int64_t n = node.inputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    float* variable = context.mutable_input<float>(0);
    float* first = context.mutable_input<float>(1);
    float* second = context.mutable_input<float>(2);
    const float* gradient = context.input<float>(4);
    const float rate = CorrectedRate(options, *context.input<float>(5),
                                     context.mutable_input<float>(3));
    const float beta1 = options.beta1;
    const float beta2 = options.beta2;
    const float epsilon = options.epsilon;
    const float weight_decay = options.weight_decay;
    ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g = gradient[i] + weight_decay * variable[i];
        const float m = beta1 * first[i] + (1 - beta1) * g;
        const float v = beta2 * second[i] + (1 - beta2) * g * g;
        first[i] = m;
        second[i] = v;
        variable[i] -= rate * m / (std::sqrt(v) + epsilon);
      }
    });
  });
}

}  // namespace spillway::ops
