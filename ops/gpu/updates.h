// The updates of variables on the GPU, in place and in float32; what each
// computes is said in ops/<name>_update.h.
#ifndef SPILLWAY_OPS_GPU_UPDATES_H_
#define SPILLWAY_OPS_GPU_UPDATES_H_

#include <cstdint>

#include "ops/gpu/launch.h"

namespace spillway::gpu {

// Device memory. Tensors have n elements, the rate one.
struct UpdateTensors {
  int64_t n = 0;
  const float* gradient = nullptr;
  const float* learning_rate = nullptr;
  float* variable = nullptr;
};

struct GradientDescentUpdate {
  float weight_decay = 0;
};
LaunchError Update(StreamHandle stream, const GradientDescentUpdate& options,
                   const UpdateTensors& tensors);

struct MomentumUpdate {
  float momentum = 0;
  float weight_decay = 0;
  bool use_nesterov = false;
  float* accumulator = nullptr;
};
LaunchError Update(StreamHandle stream, const MomentumUpdate& options,
                   const UpdateTensors& tensors);

struct AdamUpdate {
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
  float weight_decay = 0;
  float* m = nullptr;
  float* v = nullptr;
  float* beta_power = nullptr;  // two elements
};
LaunchError Update(StreamHandle stream, const AdamUpdate& options,
                   const UpdateTensors& tensors);

struct RmsPropUpdate {
  float decay = 0;
  float momentum = 0;
  float epsilon = 0;
  float weight_decay = 0;
  float* mean_square = nullptr;
  float* accumulator = nullptr;
};
LaunchError Update(StreamHandle stream, const RmsPropUpdate& options,
                   const UpdateTensors& tensors);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_UPDATES_H_
