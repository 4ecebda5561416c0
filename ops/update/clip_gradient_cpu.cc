#include <cmath>
#include <cstdint>

#include "base/status_macros.h"
#include "ops/common/clip.h"
#include "ops/cpu/elementwise.h"
#include "ops/cpu/square_sum.h"
#include "ops/update/clip_gradient.h"

namespace spillway::ops {

NewKernel SquareSumCpu(const KernelRequest& node) {
  const int64_t n = node.inputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    *context.output<float>(0) = static_cast<float>(
        spillway::SquareSum(threads, context.input<float>(0), n));
  });
}

NewKernel NormFactorCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const float max_norm,
                            ReadPositive(node.attributes, "max_norm", 0));
  SPILLWAY_ASSIGN_OR_RETURN(const float scale,
                            ReadPositive(node.attributes, "scale", 1));
  return MakeKernel([=](const KernelContext& context) {
    const float norm = scale * std::sqrt(*context.input<float>(0));
    *context.output<float>(0) = norm <= max_norm ? 1 : max_norm / norm;
  });
}

NewKernel ClipByValueCpu(const KernelRequest& node) {
  SPILLWAY_ASSIGN_OR_RETURN(const float limit,
                            ReadPositive(node.attributes, "limit", 0));
  const int64_t n = node.inputs[0].num_elements();
  return MakeKernel([=, threads = node.threads](const KernelContext& context) {
    const float* x = context.input<float>(0);
    float* y = context.output<float>(0);
    ParallelFor(threads, n, kElementwiseGrain, [=](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) y[i] = Clipped(x[i], limit);
    });
  });
}

}  // namespace spillway::ops
