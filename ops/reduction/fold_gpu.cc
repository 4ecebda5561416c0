#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "ops/common/reduction.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/fold.h"
#include "ops/reduction/reduce.h"

namespace spillway::ops {
namespace {

// Passes, at least one, and where in the workspace they write their results.
struct FoldPlan {
  std::vector<gpu::Fold> passes;
  std::vector<int64_t> places;  // of each pass but the last, in bytes
  int64_t workspace_bytes = 0;
};

// Intermediate results of passes are float32.
FoldPlan PlanFolds(const std::vector<Reduction>& passes, int64_t elements,
                   DType dtype, gpu::FoldFunction function) {
  FoldPlan plan;
  for (const Reduction& pass : passes) {
    plan.passes.push_back({.function = function,
                           .outer = pass.outer,
                           .reduced = pass.reduced,
                           .inner = pass.inner});
  }
  if (passes.empty()) {
    plan.passes.push_back({.function = function, .inner = elements});
  }
  plan.passes.front().x_dtype = dtype;
  plan.passes.back().y_dtype = dtype;
  for (size_t i = 0; i + 1 < passes.size(); ++i) {
    const auto bytes = static_cast<int64_t>(sizeof(float));
    plan.places.push_back(plan.workspace_bytes);
    plan.workspace_bytes +=
        AlignUp(passes[i].outer * passes[i].inner * bytes, 256);
  }
  return plan;
}

gpu::LaunchError Run(const FoldPlan& plan, const KernelContext& context) {
  const void* x = context.inputs[0];
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    auto* workspace = static_cast<std::byte*>(context.workspace);
    void* y = i < plan.places.size() ? workspace + plan.places[i]
                                     : context.outputs[0];
    const gpu::LaunchError error =
        gpu::RunFold(context.stream, plan.passes[i], x, y);
    if (error != 0) return error;
    x = y;
  }
  return 0;
}

NewKernel NewFold(const KernelRequest& node, gpu::FoldFunction function) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<bool> is_reduced,
                            ReducedAxes(node.attributes, x.shape));
  FoldPlan plan = PlanFolds(PassesOver(is_reduced, x.shape), x.num_elements(),
                            x.dtype, function);
  const int64_t workspace_bytes = plan.workspace_bytes;
  return MakeGpuKernel(
      [plan = std::move(plan)](const KernelContext& context) {
        return Run(plan, context);
      },
      workspace_bytes);
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
