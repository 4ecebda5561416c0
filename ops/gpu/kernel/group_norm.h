// Layer and group normalisation, and their gradients, on the GPU. x is
// [samples, rows, groups, width]; a group has all elements with one sample and
// one group (ops/normalization/group_norm.h).
#ifndef SPILLWAY_OPS_GPU_KERNEL_GROUP_NORM_H_
#define SPILLWAY_OPS_GPU_KERNEL_GROUP_NORM_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

struct GroupNorm {
  DType dtype = DType::kFloat32;
  int64_t samples = 1;
  int64_t rows = 1;
  int64_t groups = 1;
  int64_t width = 1;
  float epsilon = 0;
};

// y may be x. Statistics are [samples, groups].
struct GroupNormTensors {
  const void* x = nullptr;
  const float* scale = nullptr;
  const float* offset = nullptr;
  void* y = nullptr;
  float* mean = nullptr;
  float* inv_std = nullptr;
};
LaunchError NormalizeGroups(StreamHandle stream, const GroupNorm& norm,
                            const GroupNormTensors& tensors);

// dx may be x or dy.
struct GroupNormGradTensors {
  const void* dy = nullptr;
  const void* x = nullptr;
  const float* scale = nullptr;
  const float* mean = nullptr;
  const float* inv_std = nullptr;
  void* dx = nullptr;
  float* dscale = nullptr;
  float* doffset = nullptr;
  float* workspace = nullptr;  // GroupNormGradWorkspaceBytes(norm)
};
int64_t GroupNormGradWorkspaceBytes(const GroupNorm& norm);
LaunchError NormalizeGroupsGrad(StreamHandle stream, const GroupNorm& norm,
                                const GroupNormGradTensors& tensors);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_GROUP_NORM_H_
