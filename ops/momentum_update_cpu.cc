#include <cstdint>

#include "base/status_macros.h"
#include "ops/cpu/elementwise.h"
#include "ops/momentum_update.h"

namespace spillway::ops {
namespace {

struct Options {
  float momentum = 0;
  float weight_decay = 0;
  bool use_nesterov = false;
};

absl::StatusOr<Options> ReadOptions(const Attributes& attributes) {
  ASSIGN_OR_RETURN(const double momentum, attributes.GetReal("momentum", 0.9));
  ASSIGN_OR_RETURN(const double decay, attributes.GetReal("weight_decay", 0));
  ASSIGN_OR_RETURN(const bool nesterov,
                   attributes.GetBool("use_nesterov", false));
  return Options{.momentum = static_cast<float>(momentum),
                 .weight_decay = static_cast<float>(decay),
                 .use_nesterov = nesterov};
}

}  // namespace

NewKernel ApplyMomentumCpu(const KernelRequest& node) {
  ASSIGN_OR_RETURN(const Options options, ReadOptions(node.attributes));
  const int64_t n = node.inputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    float* variable = context.mutable_input<float>(0);
    float* accumulator = context.mutable_input<float>(1);
    const float* gradient = context.input<float>(2);
    const float rate = *context.input<float>(3);
    const float momentum = options.momentum;
    const float weight_decay = options.weight_decay;
    const float of_gradient = options.use_nesterov ? 1.0F : 0.0F;
    const float of_accumulator = options.use_nesterov ? momentum : 1.0F;
    ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const float g = gradient[i] + weight_decay * variable[i];
        const float a = momentum * accumulator[i] + g;
        accumulator[i] = a;
        variable[i] -= rate * (of_gradient * g + of_accumulator * a);
      }
    });
  });
}

}  // namespace spillway::ops
