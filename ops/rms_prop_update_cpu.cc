#include <cmath>
#include <cstdint>

#include "base/status_macros.h"
#include "ops/cpu/elementwise.h"
#include "ops/rms_prop_update.h"

namespace spillway::ops {
namespace {

struct Options {
  float decay = 0;
  float momentum = 0;
  float epsilon = 0;
  float weight_decay = 0;
};

absl::StatusOr<Options> ReadOptions(const Attributes& attributes) {
  ASSIGN_OR_RETURN(const double decay, attributes.GetReal("decay", 0.9));
  ASSIGN_OR_RETURN(const double momentum, attributes.GetReal("momentum", 0));
  ASSIGN_OR_RETURN(const double epsilon, attributes.GetReal("epsilon", 1e-10));
  ASSIGN_OR_RETURN(const double weight_decay,
                   attributes.GetReal("weight_decay", 0));
  return Options{.decay = static_cast<float>(decay),
                 .momentum = static_cast<float>(momentum),
                 .epsilon = static_cast<float>(epsilon),
                 .weight_decay = static_cast<float>(weight_decay)};
}

}  // namespace

NewKernel ApplyRMSPropCpu(const KernelRequest& node) {
  ASSIGN_OR_RETURN(const Options options, ReadOptions(node.attributes));
  const int64_t n = node.inputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    float* variable = context.mutable_input<float>(0);
    float* mean_square = context.mutable_input<float>(1);
    float* accumulator = context.mutable_input<float>(2);
    const float* gradient = context.input<float>(3);
    const float rate = *context.input<float>(4);
    const float decay = options.decay;
    const float momentum = options.momentum;
    const float epsilon = options.epsilon;
    const float weight_decay = options.weight_decay;
    ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g = gradient[i] + weight_decay * variable[i];
        const float s = decay * mean_square[i] + (1 - decay) * g * g;
        const float a =
            momentum * accumulator[i] + rate * g / std::sqrt(s + epsilon);
        mean_square[i] = s;
        accumulator[i] = a;
        variable[i] -= a;
      }
    });
  });
}

}  // namespace spillway::ops
