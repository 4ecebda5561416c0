// Batch normalisation of rows of channels and its gradient on the GPU: the
// formulas of ops/normalization/batch_norm.h. The statistics are computed in
// two stages: first for each chunk of rows, then over the chunks in order.
#ifndef SPILLWAY_OPS_GPU_KERNEL_BATCH_NORM_H_
#define SPILLWAY_OPS_GPU_KERNEL_BATCH_NORM_H_

#include <cstdint>

#include "graph/dtype.h"
#include "ops/common/fused_activation.h"
#include "ops/gpu/thread/launch.h"

namespace spillway::gpu {

struct BatchNorm {
  DType dtype = DType::kFloat32;  // of x, y, side and their gradients
  int64_t rows = 1;
  int64_t channels = 1;
  double epsilon = 0;
  double momentum = 0;
  bool is_training = true;
  FusedActivation activation = FusedActivation::kNone;
};

// y may be x or side.
struct BatchNormTensors {
  const void* x = nullptr;
  const float* scale = nullptr;
  const float* offset = nullptr;
  float* moving_mean = nullptr;
  float* moving_variance = nullptr;
  const void* side = nullptr;  // may be null
  void* y = nullptr;
  uint8_t* mask = nullptr;  // may be null; else channels are a multiple of 8
  float* mean = nullptr;
  float* inv_std = nullptr;
  float* workspace = nullptr;  // BatchNormWorkspaceBytes
};

// y may be x or side.
struct ApplyNormTensors {
  const void* x = nullptr;
  const float* scale = nullptr;
  const float* offset = nullptr;
  const float* mean = nullptr;
  const float* inv_std = nullptr;
  const void* side = nullptr;  // may be null
  void* y = nullptr;
  uint8_t* mask = nullptr;  // may be null; only with side
};

// dx may be dy or x, dside may be dy; both at once too, for different ones.
struct BatchNormGradTensors {
  const void* dy = nullptr;
  const void* x = nullptr;
  const float* scale = nullptr;
  const float* offset = nullptr;
  const float* mean = nullptr;
  const float* inv_std = nullptr;
  // Null both: the activation's gradient is from x.
  const void* y = nullptr;
  const uint8_t* mask = nullptr;
  void* dx = nullptr;
  float* dscale = nullptr;
  float* doffset = nullptr;
  void* dside = nullptr;       // only with y or mask
  float* workspace = nullptr;  // BatchNormWorkspaceBytes
};

// For both Normalize and its gradient.
int64_t BatchNormWorkspaceBytes(const BatchNorm& norm);

LaunchError Normalize(StreamHandle stream, const BatchNorm& norm,
                      const BatchNormTensors& tensors);

// The last step of Normalize, with statistics that are known. Uses neither
// epsilon, momentum nor is_training.
LaunchError ApplyNorm(StreamHandle stream, const BatchNorm& norm,
                      const ApplyNormTensors& tensors);

LaunchError NormalizeGrad(StreamHandle stream, const BatchNorm& norm,
                          const BatchNormGradTensors& tensors);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_KERNEL_BATCH_NORM_H_
