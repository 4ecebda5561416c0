#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/units.h"
#include "ops/common/reduction.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/channel_sums.h"
#include "ops/reduction/reduce.h"

namespace spillway::ops {
namespace {

using gpu::ChannelSums;

// At least one pass, which only copies if nothing is reduced.
std::vector<ChannelSums> SumsOver(const std::vector<bool>& is_reduced,
                                  const Shape& x) {
  std::vector<ChannelSums> sums;
  for (const Reduction& pass : PassesOver(is_reduced, x)) {
    sums.push_back(
        {.outer = pass.outer, .reduced = pass.reduced, .inner = pass.inner});
  }
  if (sums.empty()) sums.push_back({.inner = x.num_elements()});
  return sums;
}

// Passes, and where in the workspace they write their results. All of them use
// the start of the workspace as scratch.
struct SumPlan {
  std::vector<ChannelSums> passes;
  std::vector<int64_t> places;  // of each pass but the last, in bytes
  int64_t workspace_bytes = 0;
};

// Intermediate results of passes are float32.
SumPlan PlanSums(std::vector<ChannelSums> passes, DType dtype, float scale) {
  passes.front().x_dtype = dtype;
  passes.back().y_dtype = dtype;
  passes.back().scale = scale;
  SumPlan plan;
  for (const ChannelSums& pass : passes) {
    plan.workspace_bytes =
        std::max(plan.workspace_bytes, gpu::WorkspaceBytes(pass));
  }
  for (size_t i = 0; i + 1 < passes.size(); ++i) {
    const auto bytes = static_cast<int64_t>(sizeof(float));
    plan.places.push_back(AlignUp(plan.workspace_bytes, 256));
    plan.workspace_bytes =
        plan.places.back() + passes[i].outer * passes[i].inner * bytes;
  }
  plan.passes = std::move(passes);
  return plan;
}

gpu::LaunchError Run(const SumPlan& plan, const KernelContext& context) {
  const void* x = context.inputs[0];
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    auto* workspace = static_cast<std::byte*>(context.workspace);
    void* y = i < plan.places.size() ? workspace + plan.places[i]
                                     : context.outputs[0];
    const gpu::LaunchError error =
        gpu::SumChannels(context.stream, plan.passes[i],
                         {.x = x, .workspace = context.workspace, .y = y});
    if (error != 0) return error;
    x = y;
  }
  return 0;
}

enum class Kind : uint8_t { kSum, kMean };

NewKernel NewReduce(const KernelRequest& node, Kind kind) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<bool> is_reduced,
                            ReducedAxes(node.attributes, x.shape));
  const auto elements =
      static_cast<float>(ReducedElements(is_reduced, x.shape));
  SumPlan plan = PlanSums(SumsOver(is_reduced, x.shape), x.dtype,
                          kind == Kind::kMean ? 1 / elements : 1);
  const int64_t workspace_bytes = plan.workspace_bytes;
  return MakeGpuKernel(
      [plan = std::move(plan)](const KernelContext& context) {
        return Run(plan, context);
      },
      workspace_bytes);
}

}  // namespace

NewKernel MeanGpu(const KernelRequest& node) {
  return NewReduce(node, Kind::kMean);
}

NewKernel SumGpu(const KernelRequest& node) {
  return NewReduce(node, Kind::kSum);
}

}  // namespace spillway::ops
