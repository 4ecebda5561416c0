// GPU kernels of the updates of variables, from node to launches.
#ifndef SPILLWAY_OPS_GPU_UPDATE_KERNEL_H_
#define SPILLWAY_OPS_GPU_UPDATE_KERNEL_H_

#include <algorithm>
#include <array>
#include <cstddef>

#include "ops/common/update.h"
#include "ops/gpu/gpu_kernel.h"
#include "ops/gpu/kernel/updates.h"

namespace spillway {

inline gpu::UpdateTensor TensorOf(const KernelContext& context,
                                  const UpdateGroups& groups, size_t group) {
  gpu::UpdateTensor tensor = {
      .n = groups.elements[group],
      .gradient = context.input<float>(groups.gradient(group)),
      .variable = context.mutable_input<float>(groups.variable(group))};
  for (size_t i = 0; i + 2 < groups.inputs_each; ++i) {
    tensor.slots[i] = context.mutable_input<float>(groups.slot(group, i));
  }
  return tensor;
}

// `rule` is one of those in updates.h; `workspace_bytes` is what it needs.
template <typename Rule>
NewKernel GpuUpdateKernel(const KernelRequest& node, const Rule& rule,
                          int64_t workspace_bytes = 0) {
  const auto launch = [=, groups = GroupsOf(node.inputs, node.outputs)](
                          const KernelContext& context) -> gpu::LaunchError {
    const float* shared = context.input<float>(groups.shared());
    for (size_t first = 0; first < groups.count();
         first += gpu::kMostUpdateTensors) {
      std::array<gpu::UpdateTensor, gpu::kMostUpdateTensors> tensors;
      const size_t count =
          std::min(groups.count() - first, gpu::kMostUpdateTensors);
      for (size_t i = 0; i < count; ++i) {
        tensors[i] = TensorOf(context, groups, first + i);
      }
      const gpu::LaunchError error =
          gpu::Update(context.stream, rule,
                      {.tensors = tensors.data(),
                       .count = static_cast<int>(count),
                       .shared = shared,
                       .workspace = context.workspace});
      if (error != 0) return error;
    }
    return 0;
  };
  return MakeGpuKernel(launch, workspace_bytes);
}

}  // namespace spillway

#endif  // SPILLWAY_OPS_GPU_UPDATE_KERNEL_H_
