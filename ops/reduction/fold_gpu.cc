#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/kernel/fold.h"
#include "ops/gpu/passes.h"
#include "ops/reduction/reduce.h"

namespace spillway::ops {
namespace {

NewKernel NewFold(const KernelRequest& node, gpu::FoldFunction function) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<bool> is_reduced,
                            ReducedAxes(node.attributes, x.shape));
  std::vector<gpu::Fold> passes =
      MakePasses<gpu::Fold>(is_reduced, x.shape, x.dtype);
  for (gpu::Fold& pass : passes) pass.function = function;
  return GpuPassesKernel(
      std::move(passes), /*scratch_bytes=*/0,
      [](const KernelContext& context, const gpu::Fold& pass, const void* from,
         void* to) { return gpu::RunFold(context.stream, pass, from, to); });
}

}  // namespace

NewKernel MaxGpu(const KernelRequest& node) {
  return NewFold(node, gpu::FoldFunction::kMax);
}

NewKernel MinGpu(const KernelRequest& node) {
  return NewFold(node, gpu::FoldFunction::kMin);
}

NewKernel ProdGpu(const KernelRequest& node) {
  return NewFold(node, gpu::FoldFunction::kProd);
}

}  // namespace spillway::ops
