// The updates of variables on the GPU, in place and in float32; what each
// computes is said in ops/optimizer_updates.h.
#ifndef SPILLWAY_OPS_GPU_UPDATES_H_
#define SPILLWAY_OPS_GPU_UPDATES_H_

#include <cstddef>
#include <cstdint>

#include "ops/gpu/launch.h"

namespace spillway::gpu {

// Device memory of one variable and what belongs to it: n elements each.
struct UpdateTensor {
  int64_t n = 0;
  const float* gradient = nullptr;
  float* variable = nullptr;
  float* slots[3] = {};  // in the order of the op's inputs
};

// Of one launch: its table of tensors is a parameter, of less than 4 KiB.
inline constexpr size_t kMostUpdateTensors = 64;

struct UpdateTensors {
  const UpdateTensor* tensors = nullptr;  // host memory, for the call
  int count = 0;                          // 1 ... kMostUpdateTensors
  const float* learning_rate = nullptr;   // device memory
};

// g = scale gradient + weight_decay variable
struct UpdateGradient {
  float scale = 1;
  float weight_decay = 0;
};

struct GradientDescentUpdate {
  UpdateGradient gradient = {};
};
LaunchError Update(StreamHandle stream, const GradientDescentUpdate& options,
                   const UpdateTensors& tensors);

struct MomentumUpdate {
  UpdateGradient gradient = {};
  float momentum = 0;
  bool use_nesterov = false;
};
LaunchError Update(StreamHandle stream, const MomentumUpdate& options,
                   const UpdateTensors& tensors);

// Slot 2, the powers of both betas, has two elements.
struct AdamUpdate {
  UpdateGradient gradient = {};
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
};
LaunchError Update(StreamHandle stream, const AdamUpdate& options,
                   const UpdateTensors& tensors);

struct RmsPropUpdate {
  UpdateGradient gradient = {};
  float decay = 0;
  float momentum = 0;
  float epsilon = 0;
};
LaunchError Update(StreamHandle stream, const RmsPropUpdate& options,
                   const UpdateTensors& tensors);

}  // namespace spillway::gpu

#endif  // SPILLWAY_OPS_GPU_UPDATES_H_
