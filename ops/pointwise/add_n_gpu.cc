#include <cstddef>

#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/add_n.h"

namespace spillway::ops {
namespace {

// Each launch adds as many terms as fit; in later launches the first term is
// the sum so far.
gpu::LaunchError Launch(const KernelContext& context, DType dtype, int64_t n) {
  gpu::Terms terms;
  for (size_t i = 0; i < context.inputs.size(); ++i) {
    terms.x[terms.count++] = context.inputs[i];
    if (terms.count < gpu::kMostTerms && i + 1 < context.inputs.size()) {
      continue;
    }
    const gpu::LaunchError error =
        gpu::AddN(context.stream, dtype, terms, context.outputs[0], n);
    if (error != 0) return error;
    terms = {.x = {context.outputs[0]}, .count = 1};
  }
  return 0;
}

}  // namespace

NewKernel AddNGpu(const KernelRequest& node) {
  const TensorType& sum = node.outputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(sum));
  return MakeGpuKernel([dtype = sum.dtype,
                        n = sum.num_elements()](const KernelContext& context) {
    return Launch(context, dtype, n);
  });
}

}  // namespace spillway::ops
