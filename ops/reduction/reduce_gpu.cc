#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ops/gpu/factories.h"
#include "ops/gpu/kernel/channel_sums.h"
#include "ops/gpu/passes.h"
#include "ops/reduction/reduce.h"

namespace spillway::ops {
namespace {

using gpu::ChannelSums;

enum class Kind : uint8_t { kSum, kMean };

NewKernel NewReduce(const KernelRequest& node, Kind kind) {
  const TensorType& x = node.inputs[0];
  SPILLWAY_RETURN_IF_ERROR(CheckGpuStorage(x));
  SPILLWAY_ASSIGN_OR_RETURN(const std::vector<bool> is_reduced,
                            ReducedAxes(node.attributes, x.shape));
  const auto elements =
      static_cast<float>(ReducedElements(is_reduced, x.shape));
  std::vector<ChannelSums> passes =
      MakePasses<ChannelSums>(is_reduced, x.shape, x.dtype);
  passes.back().scale = kind == Kind::kMean ? 1 / elements : 1;
  int64_t scratch_bytes = 0;
  for (const ChannelSums& pass : passes) {
    scratch_bytes = std::max(scratch_bytes, gpu::WorkspaceBytes(pass));
  }
  return GpuPassesKernel(
      std::move(passes), scratch_bytes,
      [](const KernelContext& context, const ChannelSums& pass,
         const void* from, void* to) {
        return gpu::SumChannels(
            context.stream, pass,
            {.x = from, .workspace = context.workspace, .y = to});
      });
}

}  // namespace

NewKernel MeanGpu(const KernelRequest& node) {
  return NewReduce(node, Kind::kMean);
}

NewKernel SumGpu(const KernelRequest& node) {
  return NewReduce(node, Kind::kSum);
}

}  // namespace spillway::ops
