// Local response normalisation across channels, and its gradient, on the GPU:
// the formulas of ops/normalization/lrn.h. Outputs may be any of their inputs.
#ifndef SPILLWAY_OPS_GPU_KERNEL_LRN_H_
#define SPILLWAY_OPS_GPU_KERNEL_LRN_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

struct Lrn {
  DType dtype = DType::kFloat32;
  int64_t rows = 1;
  int64_t channels = 1;
  int64_t depth_radius = 0;
  float bias = 1;
  float alpha = 1;
  float beta = 0.5;
};

// For both directions; 0 if a row fits into a block's shared memory.
int64_t WorkspaceBytes(const Lrn& lrn);

LaunchError LrnForward(StreamHandle stream, const Lrn& lrn, const void* x,
                       void* y, void* workspace);

struct LrnGradTensors {
  const void* dy = nullptr;
  const void* x = nullptr;
  void* dx = nullptr;
  void* workspace = nullptr;  // WorkspaceBytes(lrn)
};

LaunchError LrnBackward(StreamHandle stream, const Lrn& lrn,
                        const LrnGradTensors& tensors);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_LRN_H_
